//@ revisions: racy fixed
//@[racy] findings: missing-atomic
// Every page pushes its share to the pages that it links to; several push to one.
#include "check.h"

__global__ void push(const int* links, const float* rank, float* next, int degree) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    float share = rank[v] / degree;
    for (int e = 0; e < degree; e++) {
        int to = links[v * degree + e];
#ifdef FIXED
        atomicAdd(&next[to], share);
#else
        next[to] += share; //~ A
#endif
    }
}
//~ RACE[racy] write-read|write-write|read-write global: A A

int main() {
    const int n = 64, degree = 4;
    Buffer<int> links(n * degree);
    Buffer<float> rank(n), next(n);
    for (int i = 0; i < n * degree; i++) links[i] = i * 5 % n;
    for (int i = 0; i < n; i++) rank[i] = 4;
    links.upload();
    rank.upload();
    push<<<2, 32>>>(links.device, rank.device, next.device, degree);
    SYNC();
    next.download();
    bool right = true;
    for (int i = 0; i < n; i++) right &= next[i] == 4;
    return finish(right);
}
