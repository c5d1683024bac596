// Loads and stores with cache hints. CUDA's `sm_32_intrinsics.h` declares them, clang's CUDA headers do not.
// A hint changes no value, so these are plain accesses. Only `__ldcv` is volatile, since it reads again each
// time.
#ifndef GPURACE_CACHE_HINTS_H
#define GPURACE_CACHE_HINTS_H

#define GPURACE_CACHED(T)                                                                                    \
  static __device__ inline T __ldca(const T *p) { return *p; }                                               \
  static __device__ inline T __ldcg(const T *p) { return *p; }                                               \
  static __device__ inline T __ldcs(const T *p) { return *p; }                                               \
  static __device__ inline T __ldlu(const T *p) { return *p; }                                               \
  static __device__ inline void __stwb(T *p, T v) { *p = v; }                                                \
  static __device__ inline void __stcg(T *p, T v) { *p = v; }                                                \
  static __device__ inline void __stcs(T *p, T v) { *p = v; }                                                \
  static __device__ inline void __stwt(T *p, T v) { *p = v; }
#define GPURACE_SCALAR(T)                                                                                    \
  GPURACE_CACHED(T)                                                                                          \
  static __device__ inline T __ldcv(const T *p) { return *(const volatile T *)p; }
// A volatile read of a vector reads each element.
#define GPURACE_VECTOR(T, N)                                                                                 \
  GPURACE_CACHED(T##N)                                                                                       \
  static __device__ inline T##N __ldcv(const T##N *p) {                                                      \
    T##N v;                                                                                                  \
    for (unsigned i = 0; i < sizeof(v) / sizeof(v.x); i++) {                                                 \
      (&v.x)[i] = ((const volatile decltype(v.x) *)p)[i];                                                    \
    }                                                                                                        \
    return v;                                                                                                \
  }

GPURACE_SCALAR(char)
GPURACE_SCALAR(signed char)
GPURACE_SCALAR(unsigned char)
GPURACE_SCALAR(short)
GPURACE_SCALAR(unsigned short)
GPURACE_SCALAR(int)
GPURACE_SCALAR(unsigned int)
GPURACE_SCALAR(long)
GPURACE_SCALAR(unsigned long)
GPURACE_SCALAR(long long)
GPURACE_SCALAR(unsigned long long)
GPURACE_SCALAR(float)
GPURACE_SCALAR(double)
GPURACE_VECTOR(char, 2)
GPURACE_VECTOR(char, 4)
GPURACE_VECTOR(uchar, 2)
GPURACE_VECTOR(uchar, 4)
GPURACE_VECTOR(short, 2)
GPURACE_VECTOR(short, 4)
GPURACE_VECTOR(ushort, 2)
GPURACE_VECTOR(ushort, 4)
GPURACE_VECTOR(int, 2)
GPURACE_VECTOR(int, 4)
GPURACE_VECTOR(uint, 2)
GPURACE_VECTOR(uint, 4)
GPURACE_VECTOR(longlong, 2)
GPURACE_VECTOR(ulonglong, 2)
GPURACE_VECTOR(float, 2)
GPURACE_VECTOR(float, 4)
GPURACE_VECTOR(double, 2)

#undef GPURACE_CACHED
#undef GPURACE_SCALAR
#undef GPURACE_VECTOR
#endif
