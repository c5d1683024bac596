// Annotations that tell gpurace what it cannot know. See docs/annotations.md.
//
//   GPURACE_NO_SANITIZE                do not check a function, nor what it calls
//   GPURACE_IGNORE_BEGIN(), _END()     do not check a part of a function
//   GPURACE_IGNORE_SCOPE()             do not check the rest of the scope
//   GPURACE_BENIGN_RACE(object, why)   do not report races on an object
//   GPURACE_BENIGN_RACE_SIZED(pointer, size, why)
//   GPURACE_HAPPENS_BEFORE(address)    an order that gpurace does not know: everything before the first
//   GPURACE_HAPPENS_AFTER(address)     happens before everything after the second
//
// All of them work in device code. The benign races also work in host code of CUDA sources. Without
// -fsanitize=gpurace, and with any other compiler, they do nothing.
#ifndef GPURACE_GPURACE_H
#define GPURACE_GPURACE_H

#include <stddef.h>

#if defined(__GPURACE__) && defined(__clang__) && defined(__CUDA__)

extern "C" __device__ void __gpurace_ignore(int on);
extern "C" __device__ void __gpurace_benign(const void *address, unsigned long size);
extern "C" __device__ void __gpurace_happens(const void *address, int after);
extern "C" __host__ void __gpurace_host_benign(const void *address, size_t size);

#define GPURACE_NO_SANITIZE __attribute__((annotate("gpurace.ignore")))

#define GPURACE_INLINE static inline __attribute__((always_inline, unused)) __host__ __device__

GPURACE_INLINE void gpurace_ignore_begin() {
#if defined(__CUDA_ARCH__)
  __gpurace_ignore(1);
#endif
}

GPURACE_INLINE void gpurace_ignore_end() {
#if defined(__CUDA_ARCH__)
  __gpurace_ignore(0);
#endif
}

GPURACE_INLINE void gpurace_benign_race(const volatile void *address, size_t size, const char *) {
#if defined(__CUDA_ARCH__)
  __gpurace_benign(const_cast<const void *>(address), size);
#else
  __gpurace_host_benign(const_cast<const void *>(address), size);
#endif
}

GPURACE_INLINE void gpurace_happens_before(const volatile void *address) {
#if defined(__CUDA_ARCH__)
  __gpurace_happens(const_cast<const void *>(address), 0);
#else
  (void)address;
#endif
}

GPURACE_INLINE void gpurace_happens_after(const volatile void *address) {
#if defined(__CUDA_ARCH__)
  __gpurace_happens(const_cast<const void *>(address), 1);
#else
  (void)address;
#endif
}

#undef GPURACE_INLINE

// While an object of this type lives, accesses are not checked.
struct gpurace_ignore_scope {
  __host__ __device__ gpurace_ignore_scope() { gpurace_ignore_begin(); }
  __host__ __device__ ~gpurace_ignore_scope() { gpurace_ignore_end(); }
  gpurace_ignore_scope(const gpurace_ignore_scope &) = delete;
  gpurace_ignore_scope &operator=(const gpurace_ignore_scope &) = delete;
};

#define GPURACE_IGNORE_BEGIN() gpurace_ignore_begin()
#define GPURACE_IGNORE_END() gpurace_ignore_end()
#define GPURACE_IGNORE_JOIN_(a, b) a##b
#define GPURACE_IGNORE_NAME_(line) GPURACE_IGNORE_JOIN_(gpurace_ignore_, line)
#define GPURACE_IGNORE_SCOPE() gpurace_ignore_scope GPURACE_IGNORE_NAME_(__LINE__)
#define GPURACE_BENIGN_RACE_SIZED(pointer, size, why) gpurace_benign_race((pointer), (size), (why))
#define GPURACE_BENIGN_RACE(object, why) gpurace_benign_race(&(object), sizeof(object), (why))
#define GPURACE_HAPPENS_BEFORE(address) gpurace_happens_before(address)
#define GPURACE_HAPPENS_AFTER(address) gpurace_happens_after(address)

#else

#define GPURACE_NO_SANITIZE
#define GPURACE_IGNORE_BEGIN() ((void)0)
#define GPURACE_IGNORE_END() ((void)0)
#define GPURACE_IGNORE_SCOPE() ((void)0)
#define GPURACE_BENIGN_RACE_SIZED(pointer, size, why) ((void)0)
#define GPURACE_BENIGN_RACE(object, why) ((void)0)
#define GPURACE_HAPPENS_BEFORE(address) ((void)0)
#define GPURACE_HAPPENS_AFTER(address) ((void)0)

#endif

#endif
