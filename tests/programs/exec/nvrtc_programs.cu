//@ opt: O1
//@ seeds: 0
//@ compile-flags: -lnvrtc
//@ stdout: right
// Kernels that the program compiles itself with NVRTC: options, headers in memory, name expressions, code as text and as
// binary, what the compiler says, and the statuses of wrong uses.
#include "driver.h"

#include <cstring>
#include <nvrtc.h>
#include <vector>

const char* const SOURCE = R"(
#ifndef __CUDACC_RTC__
#error "NVRTC defines it"
#endif
#include "scale.h"
#include <parts/offset.h>
namespace shape { __constant__ int factor; }
template <class T, int K> __global__ void scale(T* data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] = data[i] * T(K) * scaled(shape::factor) + OFFSET + EXTRA;
}
extern "C" __global__ void plain(int* data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] += 1;
}
)";
const char* const HEADERS[] = {"static __device__ int scaled(int x) { return 2 * x; }", "#define OFFSET 3"};
const char* const NAMES[] = {"scale.h", "parts/offset.h"};
const int N = 100;

nvrtcProgram program(const char* source, const char* name = nullptr) {
    nvrtcProgram made;
    CUDA(nvrtcCreateProgram(&made, source, name, 2, HEADERS, NAMES));
    return made;
}

std::string log_of(nvrtcProgram program) {
    size_t size;
    CUDA(nvrtcGetProgramLogSize(program, &size));
    std::vector<char> log(size);
    CUDA(nvrtcGetProgramLog(program, log.data()));
    expect(log.back() == 0 && strlen(log.data()) + 1 == size, "a log ends with its only nul");
    return log.data();
}

nvrtcResult compiled(nvrtcProgram program, std::vector<const char*> options) {
    return nvrtcCompileProgram(program, int(options.size()), options.data());
}

std::vector<char> ptx(nvrtcProgram program) {
    size_t size;
    CUDA(nvrtcGetPTXSize(program, &size));
    std::vector<char> text(size);
    CUDA(nvrtcGetPTX(program, text.data()));
    expect(strlen(text.data()) + 1 == size, "PTX is text");
    return text;
}

std::vector<char> cubin(nvrtcProgram program) {
    size_t size;
    CUDA(nvrtcGetCUBINSize(program, &size));
    std::vector<char> code(size);
    CUDA(nvrtcGetCUBIN(program, code.data()));
    return code;
}

void launch(CUfunction kernel, CUdeviceptr data) {
    int n = N;
    void* arguments[] = {&data, &n};
    CU(cuLaunchKernel(kernel, 2, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
    CU(cuCtxSynchronize());
}

void run(const std::vector<char>& code, const char* scale, const char* factor) {
    CUmodule module;
    CU(cuModuleLoadData(&module, code.data()));
    CUdeviceptr at;
    size_t size;
    CU(cuModuleGetGlobal(&at, &size, module, factor));
    int five = 5;
    expect(size == sizeof five, "the size of a variable");
    CU(cuMemcpyHtoD(at, &five, size));
    Buffer<int> data(N);
    iota(data);
    launch(function(module, scale), CUdeviceptr(data.device));
    launch(function(module, "plain"), CUdeviceptr(data.device));
    data.download();
    for (int i = 0; i < N; i++) expect(data[i] == i * 7 * 10 + 3 + 4 + 1, "a value");
    CU(cuModuleUnload(module));
}

void good() {
    auto made = program(SOURCE, "folder/scale.cu");
    CUDA(nvrtcAddNameExpression(made, "&shape::factor"));
    CUDA(nvrtcAddNameExpression(made, "scale<int, EXTRA + 3>"));
    CUDA(nvrtcAddNameExpression(made, "plain"));
    expect(compiled(made, {"--gpu-architecture=compute_80", "--std=c++11", "-DEXTRA=4", "--pch"}) == NVRTC_SUCCESS,
           "it compiles");
    const char *scale, *factor, *plain, *other;
    CUDA(nvrtcGetLoweredName(made, "scale<int, EXTRA + 3>", &scale));
    CUDA(nvrtcGetLoweredName(made, "&shape::factor", &factor));
    CUDA(nvrtcGetLoweredName(made, "plain", &plain));
    expect(std::string(scale) == "_Z5scaleIiLi7EEvPT_i", scale);
    expect(std::string(factor) == "_ZN5shape6factorE", factor);
    expect(std::string(plain) == "plain", plain);
    expect(nvrtcGetLoweredName(made, "missing", &other) == NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID, "no such name");
    expect(nvrtcAddNameExpression(made, "plain") == NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION, "too late");
    run(ptx(made), scale, factor);
    run(cubin(made), scale, factor);
    CUDA(nvrtcDestroyProgram(&made));
    expect(made == nullptr, "a destroyed program is none");
}

// Functions without an execution space, `assert` without a header, and a static variable.
void default_space() {
    auto made = program("struct Pair { int a, b; int sum() const { return a + b; } };\nint twice(int x) { return 2 * x; }\n"
                        "static __constant__ int one;\n"
                        "extern \"C\" __global__ void plain(int* data, int n) { assert(n > 0); "
                        "if (blockIdx.x + threadIdx.x == 0) data[0] = twice(Pair{one, n}.sum()); }");
    expect(compiled(made, {"-arch=sm_90", "-default-device"}) == NVRTC_SUCCESS, "functions for the device");
    CUmodule module;
    CU(cuModuleLoadData(&module, cubin(made).data()));
    CUdeviceptr at;
    size_t size;
    CU(cuModuleGetGlobal(&at, &size, module, "one"));
    int one = 1;
    CU(cuMemcpyHtoD(at, &one, size));
    Buffer<int> data(1);
    launch(function(module, "plain"), CUdeviceptr(data.device));
    data.download();
    expect(data[0] == 2 * (N + 1), "what they compute");
    CUDA(nvrtcDestroyProgram(&made));
}

void bad() {
    auto made = program("\n__global__ void broken() { int x = y; }", "broken.cu");
    const char* name;
    size_t size;
    expect(nvrtcGetLoweredName(made, "broken", &name) == NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION, "too early");
    expect(compiled(made, {}) == NVRTC_ERROR_COMPILATION, "a missing name");
    expect(log_of(made).find("broken.cu:2:36: error: ") == 0, log_of(made).c_str());
    expect(nvrtcGetPTXSize(made, &size) == NVRTC_ERROR_INVALID_PROGRAM, "no code");
    CUDA(nvrtcDestroyProgram(&made));

    made = program("__global__ void one() {}");
    CUDA(nvrtcAddNameExpression(made, "two"));
    expect(compiled(made, {}) == NVRTC_ERROR_COMPILATION, "a missing kernel");
    expect(log_of(made).find("name expression 0:1:") == 0, log_of(made).c_str());
    CUDA(nvrtcDestroyProgram(&made));

    made = program("__global__ void one() {}");
    expect(compiled(made, {"--no-such-option"}) == NVRTC_ERROR_INVALID_OPTION, "an unknown option");
    CUDA(nvrtcDestroyProgram(&made));

    nvrtcProgram none = reinterpret_cast<nvrtcProgram>(24);
    expect(compiled(none, {}) == NVRTC_ERROR_INVALID_PROGRAM, "no program");
    expect(nvrtcDestroyProgram(&none) == NVRTC_ERROR_INVALID_PROGRAM, "no program to destroy");
    expect(nvrtcCreateProgram(&none, nullptr, nullptr, 0, nullptr, nullptr) == NVRTC_ERROR_INVALID_INPUT, "no source");
    expect(std::string(nvrtcGetErrorString(NVRTC_ERROR_COMPILATION)) == "NVRTC_ERROR_COMPILATION", "a status's name");

    // A header may not leave its folder.
    const char* const outside[] = {"../outside.h"};
    CUDA(nvrtcCreateProgram(&made, "", nullptr, 1, HEADERS, outside));
    expect(compiled(made, {}) == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE, "a header outside");
    expect(log_of(made).find("`../outside.h`") != std::string::npos, log_of(made).c_str());
    CUDA(nvrtcDestroyProgram(&made));
}

int main() {
    int major, minor, count;
    CUDA(nvrtcVersion(&major, &minor));
    CUDA(nvrtcGetNumSupportedArchs(&count));
    std::vector<int> all(count);
    CUDA(nvrtcGetSupportedArchs(all.data()));
    expect(major == 13 && all.front() == 75 && all.back() == 121, "version and architectures");
    CUDA(cudaFree(nullptr));
    good();
    default_space();
    bad();
    return finish(true);
}
