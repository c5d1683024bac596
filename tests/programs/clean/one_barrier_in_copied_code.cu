// One `__syncthreads` that the compiler copies, by unrolling or as an inlined
// function in a loop, is one place all the same; threads that have returned are not waited for.
#include "check.h"

__device__ __forceinline__ void rotate(int* slots, int t) {
    int value = slots[(t + 1) % 64];
    __syncthreads();
    slots[t] = value;
    __syncthreads();
}

template <int n>
__global__ void turn(int* out) {
    __shared__ int slots[64];
    int t = threadIdx.x;
    if (t >= 64) return;
    slots[t] = t;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < n; i++) rotate(slots, t);
    out[t] = slots[t];
}

int main() {
    Buffer<int> out(64);
    turn<5><<<1, 96>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int t = 0; t < 64; t++) right &= out[t] == (t + 5) % 64;
    return finish(right);
}
