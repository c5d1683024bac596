// What Thrust of CUDA 12 declares and that of CUDA 13 does not. gclang appends this to <thrust/functional.h>.
#ifndef GPURACE_THRUST12_H
#define GPURACE_THRUST12_H

#include <cuda/std/optional>

THRUST_NAMESPACE_BEGIN

template <class _Argument, class _Result> struct unary_function {
  typedef _Argument argument_type;
  typedef _Result result_type;
};

template <class _First, class _Second, class _Result> struct binary_function {
  typedef _First first_argument_type;
  typedef _Second second_argument_type;
  typedef _Result result_type;
};

using ::cuda::std::nullopt;
using ::cuda::std::optional;

template <class _Function> __host__ __device__ auto not1(const _Function &__f) {
  return ::cuda::std::not_fn(__f);
}
template <class _Function> __host__ __device__ auto not2(const _Function &__f) {
  return ::cuda::std::not_fn(__f);
}

THRUST_NAMESPACE_END

#endif
