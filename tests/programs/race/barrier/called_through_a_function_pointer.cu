//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// The racing accesses are reached through pointers to device functions.
#include "check.h"

typedef void (*Step)(int*, int);
__device__ void put(int* slots, int t) { slots[t] = t; } //~ A
__device__ void take(int* slots, int t) { slots[64 + t] = slots[63 - t]; } //~ B
__device__ Step steps[2] = {put, take};

__global__ void run(int* out) {
    __shared__ int slots[128];
    int t = threadIdx.x;
    for (int i = 0; i < 2; i++) {
        steps[i](slots, t);
#ifdef FIXED
        __syncthreads();
#endif
    }
    out[t] = slots[64 + t];
}
//~ RACE[racy] write-read shared: A B

int main() {
    Buffer<int> out(64);
    run<<<1, 64>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == 63 - i;
    return finish(right);
}
