//@ module: yes
//@ stdout: right
//@ stderr-contains: gpurace: error: found PTX text, wanted device code made by gclang
//@ stderr-contains: gpurace: hint: compile the kernels with `gclang -fsanitize=gpurace --cuda-device-only -o FILE.fatbin FILE.cu`, and load that file
//@ stderr-contains: gpurace: error: found a cubin, which is code for a GPU, wanted device code made by gclang
//@ stderr-contains: gpurace: error: cannot read `no_such_file.fatbin`
//@ stderr-contains: gpurace: error: damaged gpurace device code: its checksum is wrong
//@ stderr-contains: gpurace: error: `cuLinkCreate_v2`: linking and compiling PTX are not supported on the CPU executor
// What the driver API refuses: what is no module, what is not there, and calls without context.
#include "driver.h"

#include <fstream>
#include <iterator>
#include <vector>

extern "C" __global__ void one(int* out, int value) { *out = value; }

#define GIVES(call, code) expect((call) == (code), #call)

int main(int, char** argv) {
    CUdeviceptr memory;
    CUcontext context, found;
    CUmodule module;
    CUfunction kernel;
    int count;
    GIVES(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    GIVES(cuInit(1), CUDA_ERROR_INVALID_VALUE);
    CU(cuInit(0));
    GIVES(cuCtxGetCurrent(&found), CUDA_SUCCESS);
    expect(!found, "no context is current");
    GIVES(cuMemAlloc(&memory, 4), CUDA_ERROR_INVALID_CONTEXT);
    GIVES(cuCtxSetCurrent(reinterpret_cast<CUcontext>(&memory)), CUDA_ERROR_INVALID_CONTEXT);
    GIVES(cuCtxCreate(&context, nullptr, 0, 1), CUDA_ERROR_INVALID_DEVICE);
    CU(cuCtxCreate(&context, nullptr, 0, 0));
    GIVES(cuMemAlloc(&memory, 0), CUDA_ERROR_INVALID_VALUE);
    CU(cuMemAlloc(&memory, 4));
    GIVES(cuMemFree(memory + 1), CUDA_ERROR_INVALID_VALUE);

    GIVES(cuModuleLoadData(&module, "//\n.version 8.0\n.target sm_80\n"), CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
    unsigned char cubin[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    cubin[18] = 190;
    GIVES(cuModuleLoadData(&module, cubin), CUDA_ERROR_NO_BINARY_FOR_GPU);
    GIVES(cuModuleLoadData(&module, nullptr), CUDA_ERROR_INVALID_VALUE);
    GIVES(cuModuleLoad(&module, "no_such_file.fatbin"), CUDA_ERROR_FILE_NOT_FOUND);
    std::string own = std::string(argv[0]) + ".fatbin";
    std::ifstream file(own, std::ios::binary);
    std::vector<char> content{std::istreambuf_iterator<char>(file), {}};
    content[content.size() / 2] ^= 1;
    GIVES(cuModuleLoadData(&module, content.data()), CUDA_ERROR_INVALID_IMAGE);

    CU(cuModuleLoad(&module, own.c_str()));
    GIVES(cuModuleGetFunction(&kernel, module, "two"), CUDA_ERROR_NOT_FOUND);
    GIVES(cuModuleGetFunction(&kernel, nullptr, "one"), CUDA_ERROR_INVALID_HANDLE);
    size_t size;
    CUdeviceptr variable;
    GIVES(cuModuleGetGlobal(&variable, &size, module, "one"), CUDA_ERROR_NOT_FOUND);
    CU(cuModuleGetFunction(&kernel, module, "one"));
    int value = 3;
    void* arguments[] = {&memory, &value};
    void* missing[] = {&memory, nullptr};
    int buffer[3] = {};
    size = sizeof buffer - 1;
    void* short_one[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    auto launch = [&](CUfunction f, unsigned threads, CUstream stream, void** args, void** extra) {
        return cuLaunchKernel(f, 1, 1, 1, threads, 1, 1, 0, stream, args, extra);
    };
    GIVES(launch(nullptr, 1, nullptr, arguments, nullptr), CUDA_ERROR_INVALID_HANDLE);
    GIVES(launch(kernel, 0, nullptr, arguments, nullptr), CUDA_ERROR_INVALID_VALUE);
    GIVES(launch(kernel, 1, reinterpret_cast<CUstream>(&memory), arguments, nullptr), CUDA_ERROR_INVALID_HANDLE);
    GIVES(launch(kernel, 1, nullptr, missing, nullptr), CUDA_ERROR_INVALID_VALUE);
    GIVES(launch(kernel, 1, nullptr, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
    GIVES(launch(kernel, 1, nullptr, nullptr, short_one), CUDA_ERROR_INVALID_VALUE);
    GIVES(launch(kernel, 1, nullptr, arguments, short_one), CUDA_ERROR_INVALID_VALUE);
    CU(launch(kernel, 1, nullptr, arguments, nullptr));
    int result;
    CU(cuMemcpyDtoH(&result, memory, sizeof result));

    CUlinkState state;
    GIVES(cuLinkCreate(0, nullptr, nullptr, &state), CUDA_ERROR_NOT_SUPPORTED);
    // The driver API leaves the runtime API's last error alone.
    expect(cudaGetLastError() == cudaSuccess, "no last error");
    void* address;
    CUdriverProcAddressQueryResult status;
    CU(cuGetProcAddress("cuMemAlloc", &address, CUDA_VERSION, 0, &status));
    expect(address == reinterpret_cast<void*>(cuMemAlloc) && status == CU_GET_PROC_ADDRESS_SUCCESS, "cuMemAlloc by name");
    CU(cuGetProcAddress("cuCtxCreate", &address, 11000, 0, &status));
    expect(address != reinterpret_cast<void*>(cuCtxCreate) && address, "the form of an older version");
    CU(cuGetProcAddress("cuNothing", &address, CUDA_VERSION, 0, &status));
    expect(!address && status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, "no such function");
    CU(cuCtxDestroy(context));
    GIVES(cuMemFree(memory), CUDA_ERROR_INVALID_CONTEXT);
    // The runtime API works in the primary context.
    CUDA(cudaFree(nullptr));
    CU(cuCtxGetCurrent(&found));
    CU(cuMemFree(memory));
    return finish(found != nullptr && result == 3);
}
