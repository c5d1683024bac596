// What the test programs of cuRAND share: generators of the device and of the host, and moments.
#pragma once
#include <cmath>
#include <vector>

#include <curand.h>

#include "check.h"

// A generator, which is destroyed at the end of its scope.
struct Generator {
    curandGenerator_t raw;
    bool on_host;

    explicit Generator(curandRngType_t type, bool on_host = false) : on_host(on_host) {
        CUDA(on_host ? curandCreateGeneratorHost(&raw, type) : curandCreateGenerator(&raw, type));
    }
    Generator(const Generator&) = delete;
    ~Generator() { curandDestroyGenerator(raw); }
    operator curandGenerator_t() const { return raw; }
};

// `n` numbers that `fill(pointer, n)` writes: to the device's memory, or to the host's.
template <class T, class Fill>
std::vector<T> numbers(const Generator& generator, size_t n, Fill fill) {
    if (generator.on_host) {
        std::vector<T> found(n);
        CUDA(fill(found.data(), n));
        return found;
    }
    Buffer<T> buffer(n);
    CUDA(fill(buffer.device, n));
    buffer.download();
    return {buffer.host, buffer.host + n};
}

inline std::vector<float> uniform(const Generator& generator, size_t n) {
    return numbers<float>(generator, n, [&](float* to, size_t n) { return curandGenerateUniform(generator, to, n); });
}

// True if the mean and the variance of the numbers are near these.
template <class T>
bool has_moments(const char* what, const std::vector<T>& numbers, double mean, double variance) {
    double sum = 0, squares = 0;
    for (T x : numbers) sum += x;
    double found = sum / numbers.size();
    for (T x : numbers) squares += (x - found) * (x - found);
    double spread = squares / numbers.size();
    // Six standard errors. Those of the variance depend on the distribution: 5% is wide for all of them here.
    bool ok = std::abs(found - mean) <= 6 * std::sqrt(variance / numbers.size()) && std::abs(spread - variance) <= 0.05 * variance;
    if (!ok) printf("%s: mean %g (%g), variance %g (%g)\n", what, found, mean, spread, variance);
    return ok;
}

static const curandRngType_t PSEUDO[] = {CURAND_RNG_PSEUDO_DEFAULT,   CURAND_RNG_PSEUDO_XORWOW,
                                         CURAND_RNG_PSEUDO_MRG32K3A,  CURAND_RNG_PSEUDO_MTGP32,
                                         CURAND_RNG_PSEUDO_MT19937,   CURAND_RNG_PSEUDO_PHILOX4_32_10};
