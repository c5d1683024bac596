//@ seeds: 0
//@ stderr-contains: cudaCreateTextureObject
// A feature that the executor lacks is refused by name; the program may go on.
#include "check.h"

__global__ void touch(int* out) { out[threadIdx.x] = 1; }

int main() {
    cudaTextureObject_t texture = 0;
    cudaResourceDesc resource = {};
    cudaTextureDesc description = {};
    cudaError_t error = cudaCreateTextureObject(&texture, &resource, &description, nullptr);
    Buffer<int> out(32);
    touch<<<1, 32>>>(out.device);
    out.download();
    return finish(error == cudaErrorNotSupported && out[31] == 1);
}
