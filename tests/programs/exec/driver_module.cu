//@ module: yes
//@ stdout: 65
//@ stdout: 132
//@ stdout: 10
//@ stdout: 20 21 22
//@ stdout: 12 6
//@ stdout: right
// Kernels and variables of a module that the driver API loads from a file, and again from memory.
#include "driver.h"

#include <fstream>
#include <iterator>
#include <vector>

__device__ int counter = 1;
__managed__ int both = 5;
__constant__ int factors[4] = {1, 2, 3, 4};

extern "C" __global__ void scale(int* data, int by, char plus, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] = i * by * factors[1] + plus;
}
template <class T> __global__ void add(T* to, T value) { atomicAdd(to, value); }
template __global__ void add<int>(int*, int);
extern "C" __global__ void bump() {
    if (threadIdx.x == 0) counter += both;
}
extern "C" __global__ void reversed(int* out) {
    extern __shared__ int row[];
    row[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = row[blockDim.x - 1 - threadIdx.x];
}

int main(int, char** argv) {
    CUmodule module = own_module(argv[0]);
    const int n = 100;
    CUdeviceptr data;
    std::vector<int> host(n);
    CU(cuMemAlloc(&data, n * sizeof(int)));

    // By pointers to the arguments.
    CUfunction scale = function(module, "scale");
    int by = 1, count = n;
    char plus = 1;
    void* arguments[] = {&data, &by, &plus, &count};
    CU(cuLaunchKernel(scale, 4, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
    CU(cuMemcpyDtoH(host.data(), data, n * sizeof(int)));
    std::printf("%d\n", host[32]);

    // By one buffer.
    struct { CUdeviceptr data; int by; char plus; int n; } packed = {data, 2, 4, n};
    size_t size = sizeof packed;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    CU(cuLaunchKernel(scale, 4, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra));
    CU(cuCtxSynchronize());
    CU(cuMemcpyDtoH(host.data(), data, n * sizeof(int)));
    std::printf("%d\n", host[32]);

    // A name as the compiler mangles it, and a launch with a configuration.
    CUfunction add = function(module, "_Z3addIiEvPT_S0_");
    CU(cuMemsetD32(data, 0, n));
    int one = 1;
    void* to_add[] = {&data, &one};
    CUlaunchConfig config = {};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = 10;
    config.blockDimY = config.blockDimZ = 1;
    CU(cuLaunchKernelEx(&config, add, to_add, nullptr));
    CU(cuMemcpyDtoH(host.data(), data, sizeof(int)));
    std::printf("%d\n", host[0]);

    // Dynamic shared memory.
    void* to_reverse[] = {&data};
    CU(cuLaunchKernel(function(module, "reversed"), 1, 1, 1, 23, 1, 1, 23 * sizeof(int), nullptr, to_reverse, nullptr));
    CU(cuMemcpyDtoH(host.data(), data, 23 * sizeof(int)));
    std::printf("%d %d %d\n", host[2], host[1], host[0]);

    // Each load has variables of its own.
    std::ifstream file(std::string(argv[0]) + ".fatbin", std::ios::binary);
    std::vector<char> content{std::istreambuf_iterator<char>(file), {}};
    CUmodule again;
    CU(cuModuleLoadData(&again, content.data()));
    content.assign(content.size(), 0);
    CUdeviceptr variable, managed;
    CU(cuModuleGetGlobal(&managed, &size, module, "both"));
    expect(size == sizeof(int), "a managed variable has its size");
    expect(*reinterpret_cast<int*>(managed) == 5, "a managed variable has its first value");
    *reinterpret_cast<int*>(managed) = 11;
    int found[2];
    CU(cuLaunchKernel(function(module, "bump"), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
    CU(cuLaunchKernel(function(again, "bump"), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
    CU(cuModuleGetGlobal(&variable, &size, module, "counter"));
    CU(cuMemcpyDtoH(&found[0], variable, size));
    CU(cuModuleGetGlobal(&variable, nullptr, again, "counter"));
    CU(cuMemcpyDtoH(&found[1], variable, size));
    std::printf("%d %d\n", found[0], found[1]);

    CU(cuModuleUnload(again));
    CU(cuModuleUnload(module));
    CUfunction gone;
    expect(cuModuleGetFunction(&gone, module, "scale") == CUDA_ERROR_INVALID_HANDLE, "a module that is gone has no kernels");
    CU(cuMemFree(data));
    return finish(true);
}
