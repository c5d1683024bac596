//@ seeds: 0
// A thread that runs out of stack ends the launch with an error, not the program.
#include "check.h"

__device__ __noinline__ int deeper(volatile int* depth, int n) {
    if (n == 100000000) return 0;
    int frame[64];
    for (int i = 0; i < 64; i++) frame[i] = n + i;
    *depth = n;
    return deeper(depth, n + 1) + frame[n % 64];
}

__global__ void dive(int* out) { out[1] = deeper(out, 0); }

int main() {
    int* out;
    CUDA(cudaMalloc(&out, 8));
    dive<<<1, 1>>>(out);
    cudaError_t error = cudaDeviceSynchronize();
    return finish(error != cudaSuccess);
}
