//@ seeds: 0 1
//@ stderr-contains: illegal write beside the shared memory of the block in kernel `reverse(int*)`, block (0,0,0), thread (0,0,0)
//@ stderr-contains: The address is right behind shared variable `tile` of size 0
//@ stderr-contains: hint: the launch asks for no dynamic shared memory
// The launch does not say how much dynamic shared memory the kernel needs.
#include "check.h"

__global__ void reverse(int* out) {
    extern __shared__ int tile[];
    __shared__ int before[32];
    before[threadIdx.x] = out[threadIdx.x];
    tile[threadIdx.x] = before[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = tile[31 - threadIdx.x];
}

int main() {
    Buffer<int> out(32);
    reverse<<<1, 32>>>(out.device);
    cudaError_t error = cudaDeviceSynchronize();
    // Compiled without gpurace, the program writes what lies there.
    return finish(error == cudaErrorIllegalAddress || error == cudaSuccess);
}
