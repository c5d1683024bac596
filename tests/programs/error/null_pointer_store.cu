//@ seeds: 0
//@ stderr-contains: store
// A store through a null pointer ends the launch with `cudaErrorIllegalAddress`, not the program.
#include "check.h"

__global__ void store(int* out) { out[threadIdx.x] = 1; }

int main() {
    store<<<1, 32>>>(nullptr);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorName(error));
    return finish(error == cudaErrorIllegalAddress);
}
