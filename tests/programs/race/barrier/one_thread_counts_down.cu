//@ revisions: racy fixed
//@[racy] findings: missing-barrier missing-atomic
// One thread counts down what all threads look at in their loop's condition. It alone changes the number, so a barrier
// is missing, and no atomic. In the second kernel the first thread of each row does: these lose updates.
#include "check.h"

__global__ void corner(int* out, int n) {
    __shared__ int left;
    int x = threadIdx.x, y = threadIdx.y;
    if (x == 0 && y == 0) left = n;
    __syncthreads();
    while (left > 0) { //~ A
        out[y * 8 + x] += 1;
#ifdef FIXED
        __syncthreads();
#endif
        if (x == 0 && y == 0) left--; //~ B
        __syncthreads();
    }
}
//~ RACE[racy] read-write|write-read shared: A B

__global__ void rows(int* out, int n) {
    __shared__ int more;
    int x = threadIdx.x, y = threadIdx.y;
    if (x == 0 && y == 0) more = n;
    __syncthreads();
    while (more > 0) { //~ C
        out[y * 8 + x] += 1;
#ifdef FIXED
        __syncthreads();
        if (x == 0) atomicSub(&more, 1);
#else
        if (x == 0) more--; //~ D
#endif
        __syncthreads();
    }
}
//~ RACE[racy] read-write|write-read shared: C D
//~ RACE[racy] read-write|write-read|write-write shared: D D

int main() {
    Buffer<int> out(64), most(64);
    corner<<<1, dim3(8, 8)>>>(out.device, 20);
    rows<<<1, dim3(8, 8)>>>(most.device, 64);
    SYNC();
    out.download();
    most.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == 20 && most[i] == 8;
    return finish(right);
}
