//@ seeds: 0
//@ stderr-contains: illegal write
// A store one row past its array ends the launch, also where a proof has removed its check.
#include "check.h"

__global__ void shift(float* to, const float* from, int width) {
    int x = threadIdx.x, y = blockIdx.x;
    to[(y + 1) * width + x] = from[y * width + x];
}

int main() {
    float *to, *from;
    cudaMalloc(&to, 64 * 64 * 4);
    cudaMalloc(&from, 64 * 64 * 4);
    cudaMemset(from, 0, 64 * 64 * 4);
    shift<<<64, 64>>>(to, from, 64);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorName(error));
    return finish(error == cudaErrorIllegalAddress);
}
