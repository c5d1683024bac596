// Loads and stores with cache hints that CUDA's `sm_32_intrinsics.h` declares and clang's CUDA headers do
// not. A hint changes no value, so these are plain accesses. Only `__ldcv` is volatile, since it reads again
// each time.
#ifndef GPURACE_CACHE_HINTS_H
#define GPURACE_CACHE_HINTS_H

#define GPURACE_CACHED(T)                                                                                    \
  static __device__ inline T __ldca(const T *__p) { return *__p; }                                           \
  static __device__ inline T __ldlu(const T *__p) { return *__p; }                                           \
  static __device__ inline void __stwb(T *__p, T __v) { *__p = __v; }                                        \
  static __device__ inline void __stcg(T *__p, T __v) { *__p = __v; }                                        \
  static __device__ inline void __stcs(T *__p, T __v) { *__p = __v; }

// What clang has for the other types and lacks for these.
static __device__ inline void __stwt(long *__p, long __v) { *__p = __v; }
static __device__ inline void __stwt(unsigned long *__p, unsigned long __v) { *__p = __v; }
static __device__ inline unsigned long __ldcg(const unsigned long *__p) { return *__p; }
static __device__ inline unsigned long __ldcs(const unsigned long *__p) { return *__p; }
static __device__ inline unsigned long __ldcv(const unsigned long *__p) {
  return *(const volatile unsigned long *)__p;
}

GPURACE_CACHED(char)
GPURACE_CACHED(signed char)
GPURACE_CACHED(unsigned char)
GPURACE_CACHED(short)
GPURACE_CACHED(unsigned short)
GPURACE_CACHED(int)
GPURACE_CACHED(unsigned int)
GPURACE_CACHED(long)
GPURACE_CACHED(unsigned long)
GPURACE_CACHED(long long)
GPURACE_CACHED(unsigned long long)
GPURACE_CACHED(float)
GPURACE_CACHED(double)
GPURACE_CACHED(char2)
GPURACE_CACHED(char4)
GPURACE_CACHED(uchar2)
GPURACE_CACHED(uchar4)
GPURACE_CACHED(short2)
GPURACE_CACHED(short4)
GPURACE_CACHED(ushort2)
GPURACE_CACHED(ushort4)
GPURACE_CACHED(int2)
GPURACE_CACHED(int4)
GPURACE_CACHED(uint2)
GPURACE_CACHED(uint4)
GPURACE_CACHED(longlong2)
GPURACE_CACHED(ulonglong2)
GPURACE_CACHED(float2)
GPURACE_CACHED(float4)
GPURACE_CACHED(double2)

#undef GPURACE_CACHED
#endif
