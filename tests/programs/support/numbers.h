// Numbers of the four types that cuSPARSE and cuSOLVER compute with.
#pragma once
#include <complex>

#include <cuComplex.h>
#include <library_types.h>

using Complex = std::complex<float>;
using DoubleComplex = std::complex<double>;

// What a type is called: its parts' type, its form on the device, its number.
template <class T>
struct TypeOf;
template <>
struct TypeOf<float> { using Real = float; using Device = float; static constexpr cudaDataType value = CUDA_R_32F; };
template <>
struct TypeOf<double> { using Real = double; using Device = double; static constexpr cudaDataType value = CUDA_R_64F; };
template <>
struct TypeOf<Complex> { using Real = float; using Device = cuComplex; static constexpr cudaDataType value = CUDA_C_32F; };
template <>
struct TypeOf<DoubleComplex> { using Real = double; using Device = cuDoubleComplex; static constexpr cudaDataType value = CUDA_C_64F; };
template <class T>
using RealOf = typename TypeOf<T>::Real;

// A whole number from `-limit` to `limit`.
inline int next_random(int limit) {
    static unsigned state = 1;
    state = state * 1664525u + 1013904223u;
    return int((state >> 8) % unsigned(2 * limit + 1)) - limit;
}

// Multiples of `1 / scale` from -`limit / scale` to `limit / scale`.
template <class T>
void random_number(T& to, int limit, RealOf<T> scale) { to = T(next_random(limit)) / scale; }
template <class R>
void random_number(std::complex<R>& to, int limit, R scale) {
    R re, im;
    random_number(re, limit, scale), random_number(im, limit, scale);
    to = {re, im};
}

inline float conjugate(float x) { return x; }
inline double conjugate(double x) { return x; }
template <class R>
std::complex<R> conjugate(std::complex<R> x) { return std::conj(x); }
