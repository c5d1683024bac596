//@ revisions: racy fixed
//@[racy] findings: missing-atomic
// Labels spread along edges to the smaller one: by `atomicMin`, or by compare and store.
#include "check.h"

__global__ void spread(const int2* edges, const int* now, int* next) {
    int2 edge = edges[blockIdx.x * blockDim.x + threadIdx.x];
    int a = now[edge.x], b = now[edge.y];
#ifdef FIXED
    if (a < b) atomicMin(&next[edge.y], a);
    if (b < a) atomicMin(&next[edge.x], b);
#else
    if (a < b && a < next[edge.y]) next[edge.y] = a; //~ A
    if (b < a && b < next[edge.x]) next[edge.x] = b; //~ B
#endif
}
//~ RACE[racy] write-read|write-write|read-write global: A A
//~ RACE?[racy] write-read|write-write|read-write global: A B
//~ RACE[racy] write-read|write-write|read-write global: B B

int main() {
    // Two stars of 32 edges: centres 40 and 90, the first with the larger number of its own.
    const int n = 128, m = 64;
    Buffer<int2> edges(m);
    Buffer<int> now(n), next(n);
    for (int i = 0; i < 32; i++) {
        edges[i] = make_int2(40, i);
        edges[32 + i] = make_int2(50 + i, 90);
    }
    edges.upload();
    iota(now);
    iota(next);
    for (int k = 0; k < 2; k++) {
        spread<<<2, 32>>>(edges.device, now.device, next.device);
        CUDA(cudaMemcpy(now.device, next.device, n * sizeof(int), cudaMemcpyDeviceToDevice));
    }
    SYNC();
    now.download();
    bool right = now[40] == 0 && now[90] == 50;
    for (int i = 0; i < 32; i++) right &= now[i] == 0 && now[50 + i] == 50;
    return finish(right);
}
