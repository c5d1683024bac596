//@ seeds: 0
//@ stderr-contains: which is no texture object
// A handle that was never made, or whose object was destroyed, ends the launch with an error.
#include "check.h"

__global__ void fetch(cudaTextureObject_t texture, float* out) { out[threadIdx.x] = tex1D<float>(texture, 0.5f); }

int main() {
    Buffer<float> out(32);
    fetch<<<1, 32>>>(0, out.device);
    return finish(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
}
