// A launch that may begin before the one ahead of it in its stream has ended runs after it.
//@ compile-flags: --cuda-gpu-arch=sm_90
//@ stderr-contains: note: launches that may begin before the one ahead of them has ended
#include "check.h"

__global__ void add(int* sum, int most) {
    cudaGridDependencySynchronize();
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < most) sum[t] += t;
    cudaTriggerProgrammaticLaunchCompletion();
}

int main() {
    Buffer<int> sum(1000);
    sum.upload();
    cudaStream_t stream;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(4);
    config.blockDim = dim3(256);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    for (int round = 0; round < 3; round++) CUDA(cudaLaunchKernelEx(&config, add, sum.device, 1000));
    CUDA(cudaStreamSynchronize(stream));
    sum.download();
    bool right = true;
    for (int i = 0; i < 1000; i++) right &= sum[i] == 3 * i;
    return finish(right);
}
