// Declarations that nvcc makes for every CUDA source and clang's CUDA headers lack. gclang includes this
// header before each CUDA source. The user's `-D` may define any short name, so the headers use names that
// are reserved.
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

// What cuda_runtime.h includes under nvcc: programs call clock, printf and assert without any include.
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// Programs define `__rdtsc` by themselves, which is a built-in function of clang and none of g++. A function
// of the program comes before a template.
#if defined(__x86_64__) && __cplusplus >= 201103L
template <int = 0> static inline unsigned long long __gpurace_rdtsc() { return __builtin_ia32_rdtsc(); }
#define __rdtsc __gpurace_rdtsc
#endif

// clang includes cuRAND's headers before each source, and nvcc does not. Programs have variables of these
// names.
#undef LARGE_SIZE
#undef MEXP
#undef QUALIFIERS
#undef THREAD_NUM

// nvcc has operator new and delete in device code without any include.
#include <new>

// `--extended-lambda`. nvcc's cuda_runtime.h includes the two headers then.
#if defined(__GPURACE_EXTENDED_LAMBDA__)
#define __CUDACC_EXTENDED_LAMBDA__ 1
#include <functional>
#include <utility>
#endif

#if defined(__CUDA_ARCH__)
// The vtable of an abstract class needs this function.
extern "C" __attribute__((device, weak)) void __cxa_pure_virtual() { __builtin_trap(); }
#endif

// nvcc has these overloads of min and max in host code without any include (CUDA's crt/math_functions.hpp).
// clang's headers only have those for device code.
#define GPURACE_MIN_MAX(T, A, B)                                                                             \
  static inline __attribute__((host)) T min(const A __a, const B __b) {                                      \
    return (T)__a < (T)__b ? (T)__a : (T)__b;                                                                \
  }                                                                                                          \
  static inline __attribute__((host)) T max(const A __a, const B __b) {                                      \
    return (T)__a > (T)__b ? (T)__a : (T)__b;                                                                \
  }
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

// nvcc's queries about the types of lambdas. A device lambda has a call operator that host code cannot call.
// To clang, every other lambda is for both sides.
#if __cplusplus >= 201103L
namespace gpurace_lambda {
template <class _Tp> _Tp make();
template <class _Fp, class _Rp, class _Cp, class... _Ap>
auto calls(_Rp (_Cp::*)(_Ap...) const, int) -> decltype(make<_Fp &>()(make<_Ap>()...), char());
template <class _Fp, class _Rp, class _Cp, class... _Ap>
auto calls(_Rp (_Cp::*)(_Ap...), int) -> decltype(make<_Fp &>()(make<_Ap>()...), char());
template <class _Fp> int calls(...);
template <class _Fp> auto host_calls(int) -> decltype(calls<_Fp>(&_Fp::operator(), 0));
// A generic lambda has no single call operator.
template <class _Fp> char host_calls(...);
constexpr bool names_lambda(const char *__s) {
  return *__s &&
         ((__s[0] == '(' && __s[1] == 'l' && __s[2] == 'a' && __s[3] == 'm') || names_lambda(__s + 1));
}
template <class _Fp> constexpr bool is() { return names_lambda(__PRETTY_FUNCTION__); }
template <class _Fp> constexpr bool is_of_device() { return is<_Fp>() && sizeof(host_calls<_Fp>(0)) != 1; }
} // namespace gpurace_lambda
#define __nv_is_extended_device_lambda_closure_type(...) gpurace_lambda::is_of_device<__VA_ARGS__>()
#define __nv_is_extended_device_lambda_with_preserved_return_type(...)                                       \
  gpurace_lambda::is_of_device<__VA_ARGS__>()
#define __nv_is_extended_host_device_lambda_closure_type(...)                                                \
  (gpurace_lambda::is<__VA_ARGS__>() && !gpurace_lambda::is_of_device<__VA_ARGS__>())
#endif

// clang has the intrinsics of clusters, but cooperative groups expects them only of nvcc.
#define _CG_CLUSTER_INTRINSICS_AVAILABLE

// The user says that the source is for nvcc (-D__NVCC__). libcu++ has to know that the compiler is clang.
#ifdef __GPURACE_NVCC__
#if __has_include(<cuda/std/__cccl/compiler.h>)
#include <cuda/std/__cccl/compiler.h>
#endif
#if __has_include(<nv/target>)
#include <nv/target>
#endif
#define __NVCC__ 1
#endif

#include "gpurace/cache_hints.h"
#include "gpurace/nv_atomics.h"

#endif
#endif
