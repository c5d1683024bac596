//@ opt: O1
//@ seeds: 0
//@ compile-flags: -lcurand
// The distributions of cuRAND's generators have their moments and ranges, on the device and on the host.
#include "rand.h"

const size_t N = 40000;

template <class T>
bool are_above_zero_and_at_most_one(const std::vector<T>& numbers) {
    for (T x : numbers)
        if (!(x > 0 && x <= 1)) return false;
    return true;
}

bool distributions_of(const Generator& g) {
    auto bits = numbers<unsigned>(g, N, [&](unsigned* to, size_t n) { return curandGenerate(g, to, n); });
    bool ok = has_moments("bits", bits, 2147483647.5, std::pow(2.0, 64) / 12);
    unsigned ones = 0, all = ~0u;
    for (unsigned x : bits) ones |= x, all &= x;
    ok &= ones == ~0u && all == 0;

    auto floats = uniform(g, N);
    ok &= has_moments("uniform", floats, 0.5, 1 / 12.0) && are_above_zero_and_at_most_one(floats);
    auto doubles = numbers<double>(g, N, [&](double* to, size_t n) { return curandGenerateUniformDouble(g, to, n); });
    ok &= has_moments("uniform double", doubles, 0.5, 1 / 12.0) && are_above_zero_and_at_most_one(doubles);

    auto normal = numbers<float>(g, N, [&](float* to, size_t n) { return curandGenerateNormal(g, to, n, -3, 2); });
    ok &= has_moments("normal", normal, -3, 4);
    auto wide = numbers<double>(g, N, [&](double* to, size_t n) { return curandGenerateNormalDouble(g, to, n, 7, 0.5); });
    ok &= has_moments("normal double", wide, 7, 0.25);
    // 68.27% lie within one standard deviation.
    size_t within = 0;
    for (float x : normal) within += std::abs(x + 3) < 2;
    ok &= within > 0.67 * N && within < 0.695 * N;

    double m = 0.3, s = 0.2, mean = std::exp(m + s * s / 2), variance = (std::exp(s * s) - 1) * mean * mean;
    auto log = numbers<float>(g, N, [&](float* to, size_t n) { return curandGenerateLogNormal(g, to, n, m, s); });
    ok &= has_moments("log-normal", log, mean, variance);
    auto wide_log =
        numbers<double>(g, N, [&](double* to, size_t n) { return curandGenerateLogNormalDouble(g, to, n, m, s); });
    ok &= has_moments("log-normal double", wide_log, mean, variance);

    for (double lambda : {0.8, 12.5, 3000.0, 400000.0}) {
        auto counts =
            numbers<unsigned>(g, N, [&](unsigned* to, size_t n) { return curandGeneratePoisson(g, to, n, lambda); });
        ok &= has_moments("Poisson", counts, lambda, lambda);
    }
    auto heads =
        numbers<unsigned>(g, N, [&](unsigned* to, size_t n) { return curandGenerateBinomial(g, to, n, 100, 0.3); });
    return ok & has_moments("binomial", heads, 30, 21);
}

int main() {
    bool ok = true;
    for (curandRngType_t type : PSEUDO)
        for (bool on_host : {false, true}) {
            Generator generator(type, on_host);
            CUDA(curandSetPseudoRandomGeneratorSeed(generator, 1234));
            CUDA(curandGenerateSeeds(generator));
            bool right = distributions_of(generator);
            if (!right) printf("generator %d, %s\n", int(type), on_host ? "host" : "device");
            ok &= right;
        }
    return finish(ok);
}
