//@ seeds: 0 1
//@ stderr-contains: illegal read beside the shared memory of the block in kernel `shift(int*)`, block (0,0,0)
//@ stderr-contains: The address is right behind shared variable `tile` of size 512
// The last thread reads the element behind the array. Nothing lies there that a check could know.
#include "check.h"

__global__ void shift(int* out) {
    __shared__ int tile[128];
    tile[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x + 1];
}

int main() {
    Buffer<int> out(128);
    shift<<<1, 128>>>(out.device);
    cudaError_t error = cudaDeviceSynchronize();
    // Compiled without gpurace, the program reads what lies there.
    return finish(error == cudaErrorIllegalAddress || error == cudaSuccess);
}
