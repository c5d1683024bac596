//@ compile-flags: --cuda-gpu-arch=sm_90
// A program that is built for compute capability 9.0, and asks for it before it launches, finds it.
#include "check.h"

__global__ void compiled_for(int* arch) {
#ifdef __CUDA_ARCH__
    *arch = __CUDA_ARCH__;
#endif
}

int main() {
    cudaDeviceProp p;
    int major = 0, minor = -1;
    cudaFuncAttributes attributes;
    CUDA(cudaGetDeviceProperties(&p, 0));
    CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    CUDA(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0));
    CUDA(cudaFuncGetAttributes(&attributes, compiled_for));
    Buffer<int> arch(1);
    compiled_for<<<1, 1>>>(arch.device);
    SYNC();
    arch.download();
    return finish(p.major == 9 && p.minor == 0 && major == 9 && minor == 0 && attributes.binaryVersion == 90 && arch[0] == 900);
}
