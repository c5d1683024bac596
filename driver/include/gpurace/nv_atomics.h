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
  switch (__scope) {                                                                                         \
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

GPURACE_INLINE void fence(int __order, int __scope) {
  if (__order == __NV_ATOMIC_SEQ_CST) {
    GPURACE_BY_SCOPE(GPURACE_FENCE, "sc")
  } else if (__order != __NV_ATOMIC_RELAXED) {
    GPURACE_BY_SCOPE(GPURACE_FENCE, "acq_rel")
  }
}

// The order of the instruction behind the fence of a sequentially consistent access.
GPURACE_INLINE int behind_fence(int __order, int __scope, int __weaker) {
  if (__order != __NV_ATOMIC_SEQ_CST) return __order;
  fence(__order, __scope);
  return __weaker;
}

GPURACE_INLINE bool acquires(int __order) {
  return __order != __NV_ATOMIC_RELAXED && __order != __NV_ATOMIC_RELEASE;
}
GPURACE_INLINE bool releases(int __order) { return __order >= __NV_ATOMIC_RELEASE; }

// The weakest order that is as strong as both.
GPURACE_INLINE int both(int __a, int __b) {
  if (__a == __NV_ATOMIC_SEQ_CST || __b == __NV_ATOMIC_SEQ_CST) return __NV_ATOMIC_SEQ_CST;
  if (releases(__a) || releases(__b))
    return acquires(__a) || acquires(__b) ? __NV_ATOMIC_ACQ_REL : __NV_ATOMIC_RELEASE;
  return acquires(__a) || acquires(__b) ? __NV_ATOMIC_ACQUIRE : __NV_ATOMIC_RELAXED;
}

#define GPURACE_LOAD(SCOPE, ORDER, TYPE, R)                                                                  \
  asm volatile("ld." ORDER "." SCOPE "." TYPE " %0, [%1];" : "=" R(__value) : "l"(__p) : "memory")
#define GPURACE_STORE(SCOPE, ORDER, TYPE, R)                                                                 \
  asm volatile("st." ORDER "." SCOPE "." TYPE " [%0], %1;" ::"l"(__p), R(__value) : "memory")
#define GPURACE_UPDATE(SCOPE, ORDER, OP, R)                                                                  \
  asm volatile("atom." ORDER "." SCOPE "." OP " %0, [%1], %2;"                                               \
               : "=" R(__old)                                                                                \
               : "l"(__p), R(__value)                                                                        \
               : "memory")
#define GPURACE_CAS(SCOPE, ORDER, OP, R)                                                                     \
  asm volatile("atom." ORDER "." SCOPE "." OP " %0, [%1], %2, %3;"                                           \
               : "=" R(__old)                                                                                \
               : "l"(__p), R(__expected), R(__value)                                                         \
               : "memory")

#define GPURACE_BY_ORDER(M, OP, R)                                                                           \
  switch (__order) {                                                                                         \
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
template <int _Bytes> struct Bits;
#define GPURACE_MOVES(WORD, TYPE, R)                                                                         \
  typedef WORD Word;                                                                                         \
  GPURACE_INLINE Word load(const void *__p, int __order, int __scope) {                                      \
    Word __value = 0;                                                                                        \
    __order = behind_fence(__order, __scope, __NV_ATOMIC_ACQUIRE);                                           \
    if (__order == __NV_ATOMIC_RELAXED) {                                                                    \
      GPURACE_BY_SCOPE(GPURACE_LOAD, "relaxed", TYPE, R)                                                     \
    } else {                                                                                                 \
      GPURACE_BY_SCOPE(GPURACE_LOAD, "acquire", TYPE, R)                                                     \
    }                                                                                                        \
    return __value;                                                                                          \
  }                                                                                                          \
  GPURACE_INLINE void store(void *__p, Word __value, int __order, int __scope) {                             \
    __order = behind_fence(__order, __scope, __NV_ATOMIC_RELEASE);                                           \
    if (__order == __NV_ATOMIC_RELAXED) {                                                                    \
      GPURACE_BY_SCOPE(GPURACE_STORE, "relaxed", TYPE, R)                                                    \
    } else {                                                                                                 \
      GPURACE_BY_SCOPE(GPURACE_STORE, "release", TYPE, R)                                                    \
    }                                                                                                        \
  }
#define GPURACE_COMPARES(TYPE, R)                                                                            \
  GPURACE_INLINE Word compare(void *__p, Word __expected, Word __value, int __order, int __scope) {          \
    Word __old = 0;                                                                                          \
    __order = behind_fence(__order, __scope, __NV_ATOMIC_ACQ_REL);                                           \
    GPURACE_BY_ORDER(GPURACE_CAS, "cas." TYPE, R)                                                            \
    return __old;                                                                                            \
  }
#define GPURACE_RMW(NAME, _Tp, OP, R)                                                                        \
  GPURACE_INLINE _Tp NAME(void *__p, _Tp __value, int __order, int __scope) {                                \
    _Tp __old = 0;                                                                                           \
    __order = behind_fence(__order, __scope, __NV_ATOMIC_ACQ_REL);                                           \
    GPURACE_BY_ORDER(GPURACE_UPDATE, OP, R)                                                                  \
    return __old;                                                                                            \
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
template <class _Tp> GPURACE_INLINE typename Bits<sizeof(_Tp)>::Word bits(const _Tp &__value) {
  typename Bits<sizeof(_Tp)>::Word __word = 0;
  __builtin_memcpy(&__word, &__value, sizeof(_Tp));
  return __word;
}
template <class _Tp> GPURACE_INLINE _Tp value_of(typename Bits<sizeof(_Tp)>::Word __word) {
  _Tp __value;
  __builtin_memcpy(&__value, &__word, sizeof(_Tp));
  return __value;
}

// Updates of integers of 4 and 8 bytes.
#define GPURACE_INTEGERS(NAME, SIGNED, UNSIGNED)                                                             \
  template <class _Tp> GPURACE_INLINE _Tp NAME(_Tp *__p, _Tp __value, int __order, int __scope) {            \
    return _Tp(-1) < _Tp(0) ? (_Tp)Bits<sizeof(_Tp)>::SIGNED(__p, __value, __order, __scope)                 \
                            : (_Tp)Bits<sizeof(_Tp)>::UNSIGNED(__p, __value, __order, __scope);              \
  }
GPURACE_INTEGERS(add, add, add)
GPURACE_INTEGERS(bit_and, bit_and, bit_and)
GPURACE_INTEGERS(bit_or, bit_or, bit_or)
GPURACE_INTEGERS(bit_xor, bit_xor, bit_xor)
GPURACE_INTEGERS(min, signed_min, unsigned_min)
GPURACE_INTEGERS(max, signed_max, unsigned_max)
GPURACE_RMW(add_float, float, "add.f32", "f")
GPURACE_RMW(add_double, double, "add.f64", "d")
GPURACE_INLINE float add(float *__p, float __v, int __order, int __scope) {
  return add_float(__p, __v, __order, __scope);
}
GPURACE_INLINE double add(double *__p, double __v, int __order, int __scope) {
  return add_double(__p, __v, __order, __scope);
}

} // namespace gpurace_atomics

template <class _Tp>
GPURACE_INLINE _Tp __nv_atomic_load_n(const volatile _Tp *__p, int __order,
                                      int __scope = __NV_THREAD_SCOPE_SYSTEM) {
  return gpurace_atomics::value_of<_Tp>(
      gpurace_atomics::Bits<sizeof(_Tp)>::load((const void *)__p, __order, __scope));
}
template <class _Tp>
GPURACE_INLINE void __nv_atomic_load(const volatile _Tp *__p, _Tp *__result, int __order,
                                     int __scope = __NV_THREAD_SCOPE_SYSTEM) {
  *__result = __nv_atomic_load_n(__p, __order, __scope);
}
template <class _Tp, class _Vp>
GPURACE_INLINE void __nv_atomic_store_n(volatile _Tp *__p, _Vp __value, int __order,
                                        int __scope = __NV_THREAD_SCOPE_SYSTEM) {
  gpurace_atomics::Bits<sizeof(_Tp)>::store((void *)__p, gpurace_atomics::bits<_Tp>((_Tp)__value), __order,
                                            __scope);
}
template <class _Tp>
GPURACE_INLINE void __nv_atomic_store(volatile _Tp *__p, _Tp *__value, int __order,
                                      int __scope = __NV_THREAD_SCOPE_SYSTEM) {
  __nv_atomic_store_n(__p, *__value, __order, __scope);
}
template <class _Tp, class _Vp>
GPURACE_INLINE _Tp __nv_atomic_exchange_n(volatile _Tp *__p, _Vp __value, int __order,
                                          int __scope = __NV_THREAD_SCOPE_SYSTEM) {
  return gpurace_atomics::value_of<_Tp>(gpurace_atomics::Bits<sizeof(_Tp)>::exchange(
      (void *)__p, gpurace_atomics::bits<_Tp>((_Tp)__value), __order, __scope));
}
template <class _Tp>
GPURACE_INLINE void __nv_atomic_exchange(volatile _Tp *__p, _Tp *__value, _Tp *__result, int __order,
                                         int __scope = __NV_THREAD_SCOPE_SYSTEM) {
  *__result = __nv_atomic_exchange_n(__p, *__value, __order, __scope);
}
// PTX has one order for a comparison: the weakest that is as strong as both.
template <class _Tp, class _Vp>
GPURACE_INLINE bool __nv_atomic_compare_exchange_n(volatile _Tp *__p, _Tp *__expected, _Vp __desired,
                                                   bool __weak, int __success, int __failure,
                                                   int __scope = __NV_THREAD_SCOPE_SYSTEM) {
  (void)__weak;
  typename gpurace_atomics::Bits<sizeof(_Tp)>::Word __wanted = gpurace_atomics::bits<_Tp>(*__expected);
  typename gpurace_atomics::Bits<sizeof(_Tp)>::Word __found = gpurace_atomics::Bits<sizeof(_Tp)>::compare(
      (void *)__p, __wanted, gpurace_atomics::bits<_Tp>((_Tp)__desired),
      gpurace_atomics::both(__success, __failure), __scope);
  *__expected = gpurace_atomics::value_of<_Tp>(__found);
  return __found == __wanted;
}
template <class _Tp>
GPURACE_INLINE bool __nv_atomic_compare_exchange(volatile _Tp *__p, _Tp *__expected, _Tp *__desired,
                                                 bool __weak, int __success, int __failure,
                                                 int __scope = __NV_THREAD_SCOPE_SYSTEM) {
  return __nv_atomic_compare_exchange_n(__p, __expected, *__desired, __weak, __success, __failure, __scope);
}

// Each update with its old value, and without.
#define GPURACE_NV(NAME, OP, VALUE)                                                                          \
  template <class _Tp, class _Vp>                                                                            \
  GPURACE_INLINE _Tp __nv_atomic_fetch_##NAME(volatile _Tp *__p, _Vp __value, int __order,                   \
                                              int __scope = __NV_THREAD_SCOPE_SYSTEM) {                      \
    return gpurace_atomics::OP((_Tp *)__p, (_Tp)(VALUE), __order, __scope);                                  \
  }                                                                                                          \
  template <class _Tp, class _Vp>                                                                            \
  GPURACE_INLINE void __nv_atomic_##NAME(volatile _Tp *__p, _Vp __value, int __order,                        \
                                         int __scope = __NV_THREAD_SCOPE_SYSTEM) {                           \
    gpurace_atomics::OP((_Tp *)__p, (_Tp)(VALUE), __order, __scope);                                         \
  }
GPURACE_NV(add, add, __value)
GPURACE_NV(sub, add, -(_Tp)__value)
GPURACE_NV(and, bit_and, __value)
GPURACE_NV(or, bit_or, __value)
GPURACE_NV(xor, bit_xor, __value)
GPURACE_NV(min, min, __value)
GPURACE_NV(max, max, __value)

GPURACE_INLINE void __nv_atomic_thread_fence(int __order, int __scope = __NV_THREAD_SCOPE_SYSTEM) {
  gpurace_atomics::fence(__order, __scope);
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
