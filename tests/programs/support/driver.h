// For programs of the driver API.
#pragma once

#include "check.h"

#include <cuda.h>
#include <string>

inline void check_driver(CUresult result, const char* expression, int line) {
    const char* name = "?";
    if (result != CUDA_SUCCESS) {
        cuGetErrorName(result, &name);
        std::printf("line %d: %s: %s\n", line, expression, name);
        std::exit(1);
    }
}
#define CU(expression) check_driver((expression), #expression, __LINE__)

// Ends the program where something is not as it should be.
inline void expect(bool right, const char* what) {
    if (!right) {
        std::printf("not so: %s\n", what);
        std::exit(1);
    }
}

// The module that the harness has made of the program's own kernels, in the primary context.
inline CUmodule own_module(const char* program) {
    CUcontext context;
    CUmodule module;
    CU(cuInit(0));
    CU(cuDevicePrimaryCtxRetain(&context, 0));
    CU(cuCtxSetCurrent(context));
    CU(cuModuleLoad(&module, (std::string(program) + ".fatbin").c_str()));
    return module;
}

inline CUfunction function(CUmodule module, const char* name) {
    CUfunction found;
    CU(cuModuleGetFunction(&found, module, name));
    return found;
}
