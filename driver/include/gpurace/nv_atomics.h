// The atomic functions with an order and a scope that nvcc has built in since CUDA 12.8 (CUDA C++ Programming
// Guide, "Atomic Functions"): `__nv_atomic_load_n` and its kin. clang's `__scoped_atomic_*` are no
// substitute: for NVIDIA's GPUs clang 22 drops their scope. So these are PTX instructions, one for each order
// and scope; orders and scopes are constants, and the others are dropped.
#ifndef GPURACE_NV_ATOMICS_H
#define GPURACE_NV_ATOMICS_H

enum {
  __NV_ATOMIC_RELAXED,
  __NV_ATOMIC_CONSUME,
  __NV_ATOMIC_ACQUIRE,
  __NV_ATOMIC_RELEASE,
  __NV_ATOMIC_ACQ_REL,
  __NV_ATOMIC_SEQ_CST
};

enum {
  __NV_THREAD_SCOPE_THREAD,
  __NV_THREAD_SCOPE_BLOCK,
  __NV_THREAD_SCOPE_CLUSTER,
  __NV_THREAD_SCOPE_DEVICE,
  __NV_THREAD_SCOPE_SYSTEM
};

namespace gpurace_atomics {

#define GPURACE_INLINE static __device__ inline __attribute__((always_inline))

// The statement for the given scope. nvcc takes a block for a thread, and clusters need sm_90. The host's
// side only reads the declarations.
#if !defined(__CUDA_ARCH__)
#define GPURACE_BY_SCOPE(M, ...)
#else
#if __CUDA_ARCH__ < 900
#define GPURACE_CLUSTER "gpu"
#else
#define GPURACE_CLUSTER "cluster"
#endif
#define GPURACE_BY_SCOPE(M, ...)                                                                             \
  switch (scope) {                                                                                           \
  case __NV_THREAD_SCOPE_THREAD:                                                                             \
  case __NV_THREAD_SCOPE_BLOCK:                                                                              \
    M("cta", __VA_ARGS__);                                                                                   \
    break;                                                                                                   \
  case __NV_THREAD_SCOPE_CLUSTER:                                                                            \
    M(GPURACE_CLUSTER, __VA_ARGS__);                                                                         \
    break;                                                                                                   \
  case __NV_THREAD_SCOPE_DEVICE:                                                                             \
    M("gpu", __VA_ARGS__);                                                                                   \
    break;                                                                                                   \
  default:                                                                                                   \
    M("sys", __VA_ARGS__);                                                                                   \
  }
#endif

#define GPURACE_FENCE(SCOPE, ORDER) asm volatile("fence." ORDER "." SCOPE ";" ::: "memory")

GPURACE_INLINE void fence(int order, int scope) {
  if (order == __NV_ATOMIC_SEQ_CST) {
    GPURACE_BY_SCOPE(GPURACE_FENCE, "sc")
  } else if (order != __NV_ATOMIC_RELAXED) {
    GPURACE_BY_SCOPE(GPURACE_FENCE, "acq_rel")
  }
}

// The order of the instruction behind the fence of a sequentially consistent access.
GPURACE_INLINE int behind_fence(int order, int scope, int weaker) {
  if (order != __NV_ATOMIC_SEQ_CST) return order;
  fence(order, scope);
  return weaker;
}

GPURACE_INLINE bool acquires(int order) {
  return order != __NV_ATOMIC_RELAXED && order != __NV_ATOMIC_RELEASE;
}
GPURACE_INLINE bool releases(int order) { return order >= __NV_ATOMIC_RELEASE; }

// The weakest order that is as strong as both.
GPURACE_INLINE int both(int a, int b) {
  if (a == __NV_ATOMIC_SEQ_CST || b == __NV_ATOMIC_SEQ_CST) return __NV_ATOMIC_SEQ_CST;
  if (releases(a) || releases(b))
    return acquires(a) || acquires(b) ? __NV_ATOMIC_ACQ_REL : __NV_ATOMIC_RELEASE;
  return acquires(a) || acquires(b) ? __NV_ATOMIC_ACQUIRE : __NV_ATOMIC_RELAXED;
}

#define GPURACE_LOAD(SCOPE, ORDER, TYPE, R)                                                                  \
  asm volatile("ld." ORDER "." SCOPE "." TYPE " %0, [%1];" : "=" R(value) : "l"(p) : "memory")
#define GPURACE_STORE(SCOPE, ORDER, TYPE, R)                                                                 \
  asm volatile("st." ORDER "." SCOPE "." TYPE " [%0], %1;" ::"l"(p), R(value) : "memory")
#define GPURACE_UPDATE(SCOPE, ORDER, OP, R)                                                                  \
  asm volatile("atom." ORDER "." SCOPE "." OP " %0, [%1], %2;" : "=" R(old) : "l"(p), R(value) : "memory")
#define GPURACE_CAS(SCOPE, ORDER, OP, R)                                                                     \
  asm volatile("atom." ORDER "." SCOPE "." OP " %0, [%1], %2, %3;"                                           \
               : "=" R(old)                                                                                  \
               : "l"(p), R(expected), R(value)                                                               \
               : "memory")

#define GPURACE_BY_ORDER(M, OP, R)                                                                           \
  switch (order) {                                                                                           \
  case __NV_ATOMIC_RELAXED:                                                                                  \
    GPURACE_BY_SCOPE(M, "relaxed", OP, R)                                                                    \
    break;                                                                                                   \
  case __NV_ATOMIC_CONSUME:                                                                                  \
  case __NV_ATOMIC_ACQUIRE:                                                                                  \
    GPURACE_BY_SCOPE(M, "acquire", OP, R)                                                                    \
    break;                                                                                                   \
  case __NV_ATOMIC_RELEASE:                                                                                  \
    GPURACE_BY_SCOPE(M, "release", OP, R)                                                                    \
    break;                                                                                                   \
  default:                                                                                                   \
    GPURACE_BY_SCOPE(M, "acq_rel", OP, R)                                                                    \
  }

// Accesses to a word of 1 to 8 bytes. `Word` is what the instruction's register holds.
template <int Bytes> struct Bits;
#define GPURACE_MOVES(WORD, TYPE, R)                                                                         \
  typedef WORD Word;                                                                                         \
  GPURACE_INLINE Word load(const void *p, int order, int scope) {                                            \
    Word value = 0;                                                                                          \
    order = behind_fence(order, scope, __NV_ATOMIC_ACQUIRE);                                                 \
    if (order == __NV_ATOMIC_RELAXED) {                                                                      \
      GPURACE_BY_SCOPE(GPURACE_LOAD, "relaxed", TYPE, R)                                                     \
    } else {                                                                                                 \
      GPURACE_BY_SCOPE(GPURACE_LOAD, "acquire", TYPE, R)                                                     \
    }                                                                                                        \
    return value;                                                                                            \
  }                                                                                                          \
  GPURACE_INLINE void store(void *p, Word value, int order, int scope) {                                     \
    order = behind_fence(order, scope, __NV_ATOMIC_RELEASE);                                                 \
    if (order == __NV_ATOMIC_RELAXED) {                                                                      \
      GPURACE_BY_SCOPE(GPURACE_STORE, "relaxed", TYPE, R)                                                    \
    } else {                                                                                                 \
      GPURACE_BY_SCOPE(GPURACE_STORE, "release", TYPE, R)                                                    \
    }                                                                                                        \
  }
#define GPURACE_COMPARES(TYPE, R)                                                                            \
  GPURACE_INLINE Word compare(void *p, Word expected, Word value, int order, int scope) {                    \
    Word old = 0;                                                                                            \
    order = behind_fence(order, scope, __NV_ATOMIC_ACQ_REL);                                                 \
    GPURACE_BY_ORDER(GPURACE_CAS, "cas." TYPE, R)                                                            \
    return old;                                                                                              \
  }
#define GPURACE_RMW(NAME, T, OP, R)                                                                          \
  GPURACE_INLINE T NAME(void *p, T value, int order, int scope) {                                            \
    T old = 0;                                                                                               \
    order = behind_fence(order, scope, __NV_ATOMIC_ACQ_REL);                                                 \
    GPURACE_BY_ORDER(GPURACE_UPDATE, OP, R)                                                                  \
    return old;                                                                                              \
  }
#define GPURACE_UPDATES(WORD, BITS, R)                                                                       \
  GPURACE_RMW(exchange, WORD, "exch.b" BITS, R)                                                              \
  GPURACE_RMW(add, WORD, "add.u" BITS, R)                                                                    \
  GPURACE_RMW(bit_and, WORD, "and.b" BITS, R)                                                                \
  GPURACE_RMW(bit_or, WORD, "or.b" BITS, R)                                                                  \
  GPURACE_RMW(bit_xor, WORD, "xor.b" BITS, R)                                                                \
  GPURACE_RMW(signed_min, WORD, "min.s" BITS, R)                                                             \
  GPURACE_RMW(signed_max, WORD, "max.s" BITS, R)                                                             \
  GPURACE_RMW(unsigned_min, WORD, "min.u" BITS, R)                                                           \
  GPURACE_RMW(unsigned_max, WORD, "max.u" BITS, R)

template <> struct Bits<1> {
  GPURACE_MOVES(unsigned short, "b8", "h")
};
template <> struct Bits<2> {
  GPURACE_MOVES(unsigned short, "b16", "h")
  GPURACE_COMPARES("b16", "h")
};
template <> struct Bits<4> {
  GPURACE_MOVES(unsigned int, "b32", "r")
  GPURACE_COMPARES("b32", "r")
  GPURACE_UPDATES(unsigned int, "32", "r")
};
template <> struct Bits<8> {
  GPURACE_MOVES(unsigned long long, "b64", "l")
  GPURACE_COMPARES("b64", "l")
  GPURACE_UPDATES(unsigned long long, "64", "l")
};

// The bits of a value as a word, and back.
template <class T> GPURACE_INLINE typename Bits<sizeof(T)>::Word bits(const T &value) {
  typename Bits<sizeof(T)>::Word word = 0;
  __builtin_memcpy(&word, &value, sizeof(T));
  return word;
}
template <class T> GPURACE_INLINE T value_of(typename Bits<sizeof(T)>::Word word) {
  T value;
  __builtin_memcpy(&value, &word, sizeof(T));
  return value;
}

// Updates of integers of 4 and 8 bytes.
#define GPURACE_INTEGERS(NAME, SIGNED, UNSIGNED)                                                             \
  template <class T> GPURACE_INLINE T NAME(T *p, T value, int order, int scope) {                            \
    return T(-1) < T(0) ? (T)Bits<sizeof(T)>::SIGNED(p, value, order, scope)                                 \
                        : (T)Bits<sizeof(T)>::UNSIGNED(p, value, order, scope);                              \
  }
GPURACE_INTEGERS(add, add, add)
GPURACE_INTEGERS(bit_and, bit_and, bit_and)
GPURACE_INTEGERS(bit_or, bit_or, bit_or)
GPURACE_INTEGERS(bit_xor, bit_xor, bit_xor)
GPURACE_INTEGERS(min, signed_min, unsigned_min)
GPURACE_INTEGERS(max, signed_max, unsigned_max)
GPURACE_RMW(add_float, float, "add.f32", "f")
GPURACE_RMW(add_double, double, "add.f64", "d")
GPURACE_INLINE float add(float *p, float v, int order, int scope) { return add_float(p, v, order, scope); }
GPURACE_INLINE double add(double *p, double v, int order, int scope) {
  return add_double(p, v, order, scope);
}

} // namespace gpurace_atomics

template <class T>
GPURACE_INLINE T __nv_atomic_load_n(const volatile T *p, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  return gpurace_atomics::value_of<T>(gpurace_atomics::Bits<sizeof(T)>::load((const void *)p, order, scope));
}
template <class T>
GPURACE_INLINE void __nv_atomic_load(const volatile T *p, T *result, int order,
                                     int scope = __NV_THREAD_SCOPE_SYSTEM) {
  *result = __nv_atomic_load_n(p, order, scope);
}
template <class T, class V>
GPURACE_INLINE void __nv_atomic_store_n(volatile T *p, V value, int order,
                                        int scope = __NV_THREAD_SCOPE_SYSTEM) {
  gpurace_atomics::Bits<sizeof(T)>::store((void *)p, gpurace_atomics::bits<T>((T)value), order, scope);
}
template <class T>
GPURACE_INLINE void __nv_atomic_store(volatile T *p, T *value, int order,
                                      int scope = __NV_THREAD_SCOPE_SYSTEM) {
  __nv_atomic_store_n(p, *value, order, scope);
}
template <class T, class V>
GPURACE_INLINE T __nv_atomic_exchange_n(volatile T *p, V value, int order,
                                        int scope = __NV_THREAD_SCOPE_SYSTEM) {
  return gpurace_atomics::value_of<T>(gpurace_atomics::Bits<sizeof(T)>::exchange(
      (void *)p, gpurace_atomics::bits<T>((T)value), order, scope));
}
template <class T>
GPURACE_INLINE void __nv_atomic_exchange(volatile T *p, T *value, T *result, int order,
                                         int scope = __NV_THREAD_SCOPE_SYSTEM) {
  *result = __nv_atomic_exchange_n(p, *value, order, scope);
}
// PTX has one order for a comparison: the weakest that is as strong as both.
template <class T, class V>
GPURACE_INLINE bool __nv_atomic_compare_exchange_n(volatile T *p, T *expected, V desired, bool weak,
                                                   int success, int failure,
                                                   int scope = __NV_THREAD_SCOPE_SYSTEM) {
  (void)weak;
  typename gpurace_atomics::Bits<sizeof(T)>::Word wanted = gpurace_atomics::bits<T>(*expected);
  typename gpurace_atomics::Bits<sizeof(T)>::Word found =
      gpurace_atomics::Bits<sizeof(T)>::compare((void *)p, wanted, gpurace_atomics::bits<T>((T)desired),
                                                gpurace_atomics::both(success, failure), scope);
  *expected = gpurace_atomics::value_of<T>(found);
  return found == wanted;
}
template <class T>
GPURACE_INLINE bool __nv_atomic_compare_exchange(volatile T *p, T *expected, T *desired, bool weak,
                                                 int success, int failure,
                                                 int scope = __NV_THREAD_SCOPE_SYSTEM) {
  return __nv_atomic_compare_exchange_n(p, expected, *desired, weak, success, failure, scope);
}

// Each update with its old value, and without.
#define GPURACE_NV(NAME, OP, VALUE)                                                                          \
  template <class T, class V>                                                                                \
  GPURACE_INLINE T __nv_atomic_fetch_##NAME(volatile T *p, V value, int order,                               \
                                            int scope = __NV_THREAD_SCOPE_SYSTEM) {                          \
    return gpurace_atomics::OP((T *)p, (T)(VALUE), order, scope);                                            \
  }                                                                                                          \
  template <class T, class V>                                                                                \
  GPURACE_INLINE void __nv_atomic_##NAME(volatile T *p, V value, int order,                                  \
                                         int scope = __NV_THREAD_SCOPE_SYSTEM) {                             \
    gpurace_atomics::OP((T *)p, (T)(VALUE), order, scope);                                                   \
  }
GPURACE_NV(add, add, value)
GPURACE_NV(sub, add, -(T)value)
GPURACE_NV(and, bit_and, value)
GPURACE_NV(or, bit_or, value)
GPURACE_NV(xor, bit_xor, value)
GPURACE_NV(min, min, value)
GPURACE_NV(max, max, value)

GPURACE_INLINE void __nv_atomic_thread_fence(int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  gpurace_atomics::fence(order, scope);
}

#undef GPURACE_INLINE
#undef GPURACE_CLUSTER
#undef GPURACE_BY_SCOPE
#undef GPURACE_FENCE
#undef GPURACE_LOAD
#undef GPURACE_STORE
#undef GPURACE_UPDATE
#undef GPURACE_CAS
#undef GPURACE_BY_ORDER
#undef GPURACE_MOVES
#undef GPURACE_COMPARES
#undef GPURACE_RMW
#undef GPURACE_UPDATES
#undef GPURACE_INTEGERS
#undef GPURACE_NV

#endif
