// A barrier between blocks made of fences and atomics.
#include "check.h"

__device__ unsigned arrived;

__device__ void wait_for_all(unsigned target) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(&arrived, 1);
        while (atomicAdd(&arrived, 0) < target) {
        }
        __threadfence();
    }
    __syncthreads();
}

__global__ void rotate(int* a, int* b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    b[i] = a[(i + 32) % n];
    wait_for_all(gridDim.x);
    a[i] = b[(i + 32) % n] + 1;
}

int main() {
    Buffer<int> a(128), b(128);
    iota(a);
    rotate<<<4, 32>>>(a.device, b.device);
    SYNC();
    a.download();
    bool right = true;
    for (int i = 0; i < 128; i++) right &= a[i] == (i + 64) % 128 + 1;
    return finish(right);
}
