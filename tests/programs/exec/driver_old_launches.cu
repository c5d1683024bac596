//@ module: yes
//@ stdout: 16 81
//@ stdout: 7 6 5
//@ stdout: right
// Launches as they were before `cuLaunchKernel`: a block's shape, shared memory and arguments are set one by one, and
// stay for later launches.
#include "driver.h"

#include <vector>

extern "C" __global__ void scale(int* data, float by, char plus, unsigned int n) {
    int i = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) data[i] = int(i * by) + plus;
}
extern "C" __global__ void reversed(int* out) {
    extern __shared__ int row[];
    row[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = row[blockDim.x - 1 - threadIdx.x];
}

int main(int, char** argv) {
    CUmodule module = own_module(argv[0]);
    const int n = 48;
    CUdeviceptr data;
    std::vector<int> host(n);
    CU(cuMemAlloc(&data, n * sizeof(int)));

    CUfunction scale = function(module, "scale");
    char plus = 1;
    CU(cuFuncSetBlockShape(scale, 8, 1, 1));
    CU(cuParamSetv(scale, 0, &data, sizeof data));
    CU(cuParamSetf(scale, 8, 1.5f));
    CU(cuParamSetv(scale, 12, &plus, 1));
    CU(cuParamSeti(scale, 16, n));
    CU(cuParamSetSize(scale, 20));
    CU(cuLaunchGrid(scale, 2, 3));
    CU(cuMemcpyDtoH(host.data(), data, n * sizeof(int)));
    int first = host[10];
    CU(cuParamSetf(scale, 8, 2.f));
    CU(cuLaunchGridAsync(scale, 3, 2, nullptr));
    CU(cuCtxSynchronize());
    CU(cuMemcpyDtoH(host.data(), data, n * sizeof(int)));
    std::printf("%d %d\n", first, host[40]);

    CUfunction reversed = function(module, "reversed");
    CU(cuFuncSetBlockShape(reversed, 8, 1, 1));
    CU(cuFuncSetSharedSize(reversed, 8 * sizeof(int)));
    CU(cuParamSetv(reversed, 0, &data, sizeof data));
    CU(cuLaunch(reversed));
    CU(cuMemcpyDtoH(host.data(), data, 8 * sizeof(int)));
    std::printf("%d %d %d\n", host[0], host[1], host[2]);

    expect(cuParamSetv(scale, -1, &data, 8) == CUDA_ERROR_INVALID_VALUE, "no argument is before the first one");
    expect(cuFuncSetBlockShape(scale, 0, 1, 1) == CUDA_ERROR_INVALID_VALUE, "a block has threads");
    CU(cuParamSetSize(scale, 16));
    expect(cuLaunch(scale) == CUDA_ERROR_INVALID_VALUE, "a launch has all arguments");
    CU(cuMemFree(data));
    return finish(true);
}
