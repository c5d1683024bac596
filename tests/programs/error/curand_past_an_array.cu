//@ opt: O1
//@ seeds: 0
//@ compile-flags: -lcurand
//@ stderr-contains: gpurace: error: illegal address: `curandGenerateUniform` writes 260 bytes at
// One number more than the array holds ends the device's work, as on a GPU it may.
#include "rand.h"

int main() {
    Buffer<float> x(64);
    Generator generator(CURAND_RNG_PSEUDO_DEFAULT);
    bool ok = curandGenerateUniform(generator, x.device, 64) == CURAND_STATUS_SUCCESS;
    ok &= curandGenerateUniform(generator, x.device, 65) == CURAND_STATUS_LAUNCH_FAILURE;
    ok &= cudaDeviceSynchronize() == cudaErrorIllegalAddress;
    ok &= curandGenerateUniform(generator, x.device, 64) == CURAND_STATUS_PREEXISTING_FAILURE;
    return finish(ok);
}
