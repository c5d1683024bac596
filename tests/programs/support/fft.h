// What the test programs of cuFFT share: plans, numbers, and the transform by its definition.
#pragma once
#include <cmath>
#include <complex>
#include <vector>

#include <cufft.h>

#include "check.h"

using Wide = std::complex<double>;

inline Wide wide(float x) { return x; }
inline Wide wide(double x) { return x; }
inline Wide wide(cufftComplex x) { return {x.x, x.y}; }
inline Wide wide(cufftDoubleComplex x) { return {x.x, x.y}; }

inline void narrow(float& to, Wide z) { to = float(z.real()); }
inline void narrow(double& to, Wide z) { to = z.real(); }
inline void narrow(cufftComplex& to, Wide z) { to = {float(z.real()), float(z.imag())}; }
inline void narrow(cufftDoubleComplex& to, Wide z) { to = {z.real(), z.imag()}; }

// Small numbers without a pattern that a transform would hide.
inline Wide number(size_t i) {
    return {double((i * 7 + i * i % 13 + 3) % 11) - 5, double((i * 5 + i * i % 17 + 1) % 7) - 3};
}

// The sizes of a transform; dimensions that are not there are 1. The fastest is z.
struct Sizes {
    int x, y, z;
    size_t count() const { return size_t(x) * y * z; }
};

// The transform by its definition, one dimension after the other.
inline std::vector<Wide> transformed(std::vector<Wide> values, Sizes n, int direction) {
    int sizes[3] = {n.x, n.y, n.z};
    for (int axis = 0; axis < 3; axis++) {
        size_t length = sizes[axis], inner = 1;
        for (int i = axis + 1; i < 3; i++) inner *= sizes[i];
        std::vector<Wide> next(values.size());
        for (size_t at = 0; at < values.size(); at++) {
            size_t k = at / inner % length, first = at - k * inner;
            Wide sum = 0;
            for (size_t j = 0; j < length; j++)
                sum += values[first + j * inner] * std::polar(1.0, direction * 2 * M_PI * double(j * k % length) / double(length));
            next[at] = sum;
        }
        values = next;
    }
    return values;
}

// The values of which the others follow, of the transform of real numbers.
inline std::vector<Wide> half(const std::vector<Wide>& all, Sizes n) {
    std::vector<Wide> kept;
    for (size_t i = 0; i < all.size(); i++)
        if (int(i % n.z) <= n.z / 2) kept.push_back(all[i]);
    return kept;
}

inline bool near(Wide found, Wide wanted, double tolerance) {
    bool ok = std::abs(found - wanted) <= tolerance * (1 + std::abs(wanted));
    if (!ok) printf("found (%g, %g), wanted (%g, %g)\n", found.real(), found.imag(), wanted.real(), wanted.imag());
    return ok;
}

// The relative error that a precision allows.
template <class T>
constexpr double tolerance() {
    return sizeof(T) == sizeof(float) ? 2e-5 : 1e-12;
}

// What no call may touch.
constexpr double PADDING = 12345;
