//@ seeds: 0 1
//@ stderr-contains: an access of 4 bytes leaves its shared array in kernel `count(int const*, int*)`, block (0,0,0), thread (77,0,0), at
//@ stderr-contains: The address is 176 bytes behind shared variable `bins` of size 1024
// A key beyond the bins would change another shared array. The launch ends, with and without checks.
#include "check.h"

__global__ void count(const int* keys, int* counts) {
    __shared__ int bins[256];
    __shared__ int total[64];
    bins[threadIdx.x] = 0;
    if (threadIdx.x < 64) total[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&bins[keys[threadIdx.x]], 1);
    __syncthreads();
    atomicAdd(&total[threadIdx.x % 64], bins[threadIdx.x]);
    __syncthreads();
    counts[threadIdx.x] = bins[threadIdx.x] + total[threadIdx.x % 64];
}

int main() {
    Buffer<int> keys(256), counts(256);
    for (int i = 0; i < 256; i++) keys[i] = i == 77 ? 300 : i;
    keys.upload();
    count<<<1, 256>>>(keys.device, counts.device);
    cudaError_t error = cudaDeviceSynchronize();
    // A program that is not checked compares nothing.
    return finish(error == cudaErrorIllegalAddress || error == cudaSuccess);
}
