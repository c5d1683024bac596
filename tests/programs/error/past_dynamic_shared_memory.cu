//@ seeds: 0 1
//@ stderr-contains: illegal write beside the shared memory of the block in kernel `fill(int*, int)`, block (0,0,0)
//@ stderr-contains: The address is right behind shared variable `tile` of size 512
// The launch asks for less dynamic shared memory than the kernel writes.
#include "check.h"

__global__ void fill(int* out, int n) {
    extern __shared__ int tile[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) tile[i] = i;
    __syncthreads();
    out[threadIdx.x] = tile[n - 1 - threadIdx.x];
}

int main() {
    Buffer<int> out(64);
    fill<<<1, 64, 128 * sizeof(int)>>>(out.device, 129);
    cudaError_t error = cudaDeviceSynchronize();
    // Compiled without gpurace, the program writes what lies there.
    return finish(error == cudaErrorIllegalAddress || error == cudaSuccess);
}
