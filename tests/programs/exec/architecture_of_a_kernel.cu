//@ compile-flags: --cuda-gpu-arch=sm_75
// The attributes of a kernel name the architecture that it was compiled for. CUB calls none of its kernels otherwise.
#include <cub/device/device_reduce.cuh>

#include "check.h"

__global__ void compiled_for(int* arch) {
#ifdef __CUDA_ARCH__
    *arch = __CUDA_ARCH__;
#endif
}

int main() {
    cudaDeviceProp p;
    cudaFuncAttributes attributes;
    CUDA(cudaGetDeviceProperties(&p, 0));
    CUDA(cudaFuncGetAttributes(&attributes, compiled_for));
    Buffer<int> arch(1);
    compiled_for<<<1, 1>>>(arch.device);
    size_t size = 0;
    CUDA(cub::DeviceReduce::Sum(nullptr, size, arch.device, arch.device, 1));
    SYNC();
    arch.download();
    const bool is_known = attributes.ptxVersion == 75 && attributes.binaryVersion == 75;
    return finish(p.major == 8 && p.minor == 0 && is_known && arch[0] == 750);
}
