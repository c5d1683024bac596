// What the test programs of cuBLAS share: numbers of its four types, and a reference in complex double precision.
#pragma once
#include <cmath>
#include <complex>
#include <vector>

#include <cublas_v2.h>

#include "check.h"

using Wide = std::complex<double>;

inline Wide wide(float x) { return x; }
inline Wide wide(double x) { return x; }
inline Wide wide(cuComplex x) { return {x.x, x.y}; }
inline Wide wide(cuDoubleComplex x) { return {x.x, x.y}; }
inline Wide wide(__half x) { return __half2float(x); }
inline Wide wide(__nv_bfloat16 x) { return __bfloat162float(x); }
inline Wide wide(signed char x) { return x; }
inline Wide wide(int x) { return x; }

template <class T>
T narrow(Wide z) {
    if constexpr (std::is_same_v<T, cuComplex> || std::is_same_v<T, cuDoubleComplex>)
        return T{decltype(T::x)(z.real()), decltype(T::x)(z.imag())};
    else
        return T(float(z.real()));
}

template <class T>
constexpr bool is_complex = std::is_same_v<T, cuComplex> || std::is_same_v<T, cuDoubleComplex>;

// Small numbers that are exact in every type.
template <class T>
T number(int i) {
    int re = (i * 7 + 3) % 11 - 5, im = (i * 5 + 1) % 7 - 3;
    return narrow<T>({double(re), is_complex<T> ? double(im) : 0.0});
}

constexpr int PADDING = 12345;

// Elements in the device's memory, also as wide numbers on the host. What no call may touch is PADDING.
template <class T>
struct Elements : Buffer<T> {
    explicit Elements(size_t n, int seed = 0, bool is_number = true) : Buffer<T>(n) {
        for (size_t i = 0; i < n; i++) this->host[i] = is_number ? number<T>(int(i) + seed) : narrow<T>(NAN);
        this->upload();
    }
    Wide at(size_t i) { return wide(this->host[i]); }
};

inline Wide apply(cublasOperation_t op, Wide z) { return op == CUBLAS_OP_C ? std::conj(z) : z; }

// Element (i, j) of a matrix in columns after the operation.
template <class T>
Wide element(Elements<T>& a, int lda, cublasOperation_t op, int i, int j, size_t first = 0) {
    return apply(op, a.at(first + (op == CUBLAS_OP_N ? i + size_t(j) * lda : j + size_t(i) * lda)));
}

inline bool near(Wide found, Wide wanted, double tolerance = 1e-4) {
    bool ok = std::abs(found - wanted) <= tolerance * (1 + std::abs(wanted));
    if (!ok) printf("found (%g, %g), wanted (%g, %g)\n", found.real(), found.imag(), wanted.real(), wanted.imag());
    return ok;
}

static const cublasOperation_t OPERATIONS[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
static const cublasFillMode_t PARTS[] = {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER};
static const cublasSideMode_t SIDES[] = {CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT};
static const cublasDiagType_t DIAGONALS[] = {CUBLAS_DIAG_NON_UNIT, CUBLAS_DIAG_UNIT};
