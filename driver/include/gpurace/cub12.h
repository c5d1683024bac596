// What CUB of CUDA 12 declares and that of CUDA 13 does not. gclang appends this to
// <cub/thread/thread_operators.cuh>.
#ifndef GPURACE_CUB12_H
#define GPURACE_CUB12_H

#include <thrust/iterator/constant_iterator.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/discard_iterator.h>
#include <thrust/iterator/transform_iterator.h>

CUB_NAMESPACE_BEGIN

using Difference = ::cuda::std::minus<>;
using Division = ::cuda::std::divides<>;
using Equality = ::cuda::std::equal_to<>;
using Inequality = ::cuda::std::not_equal_to<>;
using Max = ::cuda::maximum<>;
using Min = ::cuda::minimum<>;
using Sum = ::cuda::std::plus<>;

template <class _Value, class _Offset = ptrdiff_t>
using ConstantInputIterator = THRUST_NS_QUALIFIER::constant_iterator<_Value, _Offset>;
template <class _Value, class _Offset = ptrdiff_t>
using CountingInputIterator =
    THRUST_NS_QUALIFIER::counting_iterator<_Value, THRUST_NS_QUALIFIER::use_default,
                                           THRUST_NS_QUALIFIER::use_default, _Offset>;
template <class _Value, class _Function, class _Iterator, class _Offset = ptrdiff_t>
using TransformInputIterator = THRUST_NS_QUALIFIER::transform_iterator<_Function, _Iterator, _Value, _Value>;
template <class _Offset = ptrdiff_t> using DiscardOutputIterator = THRUST_NS_QUALIFIER::discard_iterator<>;

template <class _Number, class _Divisor>
__host__ __device__ constexpr _Number DivideAndRoundUp(_Number __n, _Divisor __d) {
  return __n / __d + (__n % __d != 0);
}

CUB_NAMESPACE_END

#endif
