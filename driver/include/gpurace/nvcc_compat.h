// Declarations that nvcc makes for every CUDA source and clang's CUDA headers lack. gclang includes this
// header before each CUDA source.
#ifndef GPURACE_NVCC_COMPAT_H
#define GPURACE_NVCC_COMPAT_H

// Separate compilation: symbols of the host object for the names of this unit's device code. With them the
// linker takes from archives what device code needs.
#if defined(__GPURACE_DEVICE_SYMBOLS__)
__asm__(__GPURACE_DEVICE_SYMBOLS__);
#endif

#if defined(__CUDA__) && defined(__cplusplus)

// Programs write `#if __CUDACC__`, which needs a value.
#undef __CUDACC__
#define __CUDACC__ 1

// nvcc has operator new and delete in device code without any include.
#include <new>

#if defined(__CUDA_ARCH__)
// The vtable of an abstract class needs this function.
extern "C" __attribute__((device, weak)) void __cxa_pure_virtual() { __builtin_trap(); }
#endif

// nvcc has these overloads of min and max in host code without any include (CUDA's crt/math_functions.hpp).
// clang's headers only have those for device code.
#define GPURACE_MIN_MAX(T, A, B)                                                                             \
  static inline __attribute__((host)) T min(const A a, const B b) { return (T)a < (T)b ? (T)a : (T)b; }      \
  static inline __attribute__((host)) T max(const A a, const B b) { return (T)a > (T)b ? (T)a : (T)b; }
GPURACE_MIN_MAX(int, int, int)
GPURACE_MIN_MAX(unsigned int, unsigned int, unsigned int)
GPURACE_MIN_MAX(unsigned int, int, unsigned int)
GPURACE_MIN_MAX(unsigned int, unsigned int, int)
GPURACE_MIN_MAX(long, long, long)
GPURACE_MIN_MAX(unsigned long, unsigned long, unsigned long)
GPURACE_MIN_MAX(unsigned long, long, unsigned long)
GPURACE_MIN_MAX(unsigned long, unsigned long, long)
GPURACE_MIN_MAX(long long, long long, long long)
GPURACE_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
GPURACE_MIN_MAX(unsigned long long, long long, unsigned long long)
GPURACE_MIN_MAX(unsigned long long, unsigned long long, long long)
GPURACE_MIN_MAX(float, float, float)
GPURACE_MIN_MAX(double, double, double)
GPURACE_MIN_MAX(double, float, double)
GPURACE_MIN_MAX(double, double, float)
#undef GPURACE_MIN_MAX

// clang 22 ignores the attribute behind __managed__ and then rejects host access to the variable. Here it
// becomes a device variable with an annotation. The pass gives it the storage of the host's variable.
#undef __managed__
#define __managed__ __attribute__((device)) __attribute__((annotate("gpurace.managed")))

// clang 22 does not know the attribute behind __cluster_dims__. The pass reads this annotation.
#undef __cluster_dims__
#define __cluster_dims__(...) __attribute__((annotate("gpurace.cluster_dims", __VA_ARGS__)))

// clang has the intrinsics of clusters, but cooperative groups expects them only of nvcc.
#define _CG_CLUSTER_INTRINSICS_AVAILABLE
#include "gpurace/cache_hints.h"

#endif
#endif
