//@ seeds: 0 1
//@ stderr-contains: illegal read beside the shared memory of the block in kernel `shift(int*)`, block (1,0,0)
//@ stderr-contains: The address is 4 bytes before shared variable `tile` of size 512
// The first thread reads the element before the array. The shared memory of every second block begins at a
// guard, so the second block faults.
#include "check.h"

__global__ void shift(int* out) {
    __shared__ int tile[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i;
    __syncthreads();
    out[i] = tile[int(threadIdx.x) - 1];
}

int main() {
    Buffer<int> out(256);
    shift<<<2, 128>>>(out.device);
    cudaError_t error = cudaDeviceSynchronize();
    // Compiled without gpurace, the program reads what lies there.
    return finish(error == cudaErrorIllegalAddress || error == cudaSuccess);
}
