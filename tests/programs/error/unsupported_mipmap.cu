//@ seeds: 0
//@ stderr-contains: cudaMallocMipmappedArray
// A feature that the executor lacks is refused by name; the program may go on.
#include "check.h"

__global__ void touch(int* out) { out[threadIdx.x] = 1; }

int main() {
    cudaMipmappedArray_t array = nullptr;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaError_t error = cudaMallocMipmappedArray(&array, &format, make_cudaExtent(8, 8, 0), 2);
    Buffer<int> out(32);
    touch<<<1, 32>>>(out.device);
    out.download();
    return finish(error == cudaErrorNotSupported && out[31] == 1);
}
