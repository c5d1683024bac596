//@ opt: O1
//@ seeds: 0
//@ compile-flags: -lcurand
// Quasirandom generators give the points that the toolkit's own device code makes of the same direction vectors, one
// dimension after the other.
#include <curand_kernel.h>

#include "rand.h"

const int DIMENSIONS = 5, POINTS = 70, OFFSET = 11;

template <class State, class Number, class... Init>
__global__ void points(Number* to, Init... init) {
    State state;
    curand_init(init[threadIdx.x]..., OFFSET, &state);
    for (int i = 0; i < POINTS; i++) to[threadIdx.x * POINTS + i] = curand(&state);
}

// Copies an array of the host to the device.
template <class T>
T* copied(const T* from, size_t n) {
    T* to;
    CUDA(cudaMalloc(&to, n * sizeof(T)));
    CUDA(cudaMemcpy(to, from, n * sizeof(T), cudaMemcpyHostToDevice));
    return to;
}

template <class Number, class Fill>
bool agrees(curandRngType_t type, Buffer<Number>& wanted, Fill fill) {
    wanted.download();
    std::vector<Number> expected(wanted.host, wanted.host + wanted.count);
    bool ok = true;
    for (bool on_host : {false, true}) {
        Generator generator(type, on_host);
        CUDA(curandSetQuasiRandomGeneratorDimensions(generator, DIMENSIONS));
        CUDA(curandSetGeneratorOffset(generator, OFFSET));
        ok &= numbers<Number>(generator, wanted.count, [&](Number* to, size_t n) { return fill(generator, to, n); }) ==
              expected;
    }
    if (!ok) printf("generator %d\n", int(type));
    return ok;
}

bool is_even(curandRngType_t type) {
    // Each of 16 parts has its share, within one, of 512 points after the first.
    Generator generator(type);
    int counts[16] = {};
    for (float x : uniform(generator, 512)) counts[std::min(15, int(x * 16))]++;
    bool ok = true;
    for (int count : counts) ok &= std::abs(count - 32) <= 1;
    auto normal = numbers<double>(generator, 4096, [&](double* to, size_t n) {
        return curandGenerateNormalDouble(generator, to, n, 1, 2);
    });
    ok &= has_moments("normal", normal, 1, 4);
    auto counted = numbers<unsigned>(generator, 4096, [&](unsigned* to, size_t n) {
        return curandGeneratePoisson(generator, to, n, 20);
    });
    return ok & has_moments("Poisson", counted, 20, 20);
}

int main() {
    bool ok = true;
    size_t n = DIMENSIONS * POINTS;
    {
        curandDirectionVectors32_t *host, *scrambled;
        unsigned* constants;
        CUDA(curandGetDirectionVectors32(&host, CURAND_DIRECTION_VECTORS_32_JOEKUO6));
        CUDA(curandGetDirectionVectors32(&scrambled, CURAND_SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6));
        CUDA(curandGetScrambleConstants32(&constants));
        Buffer<unsigned> wanted(n);
        points<curandStateSobol32_t><<<1, DIMENSIONS>>>(wanted.device, copied(host, DIMENSIONS));
        SYNC();
        ok &= agrees(CURAND_RNG_QUASI_SOBOL32, wanted, curandGenerate);
        ok &= agrees(CURAND_RNG_QUASI_DEFAULT, wanted, curandGenerate);
        points<curandStateScrambledSobol32_t>
            <<<1, DIMENSIONS>>>(wanted.device, copied(scrambled, DIMENSIONS), copied(constants, DIMENSIONS));
        SYNC();
        ok &= agrees(CURAND_RNG_QUASI_SCRAMBLED_SOBOL32, wanted, curandGenerate);
    }
    {
        curandDirectionVectors64_t *host, *scrambled;
        unsigned long long* constants;
        CUDA(curandGetDirectionVectors64(&host, CURAND_DIRECTION_VECTORS_64_JOEKUO6));
        CUDA(curandGetDirectionVectors64(&scrambled, CURAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6));
        CUDA(curandGetScrambleConstants64(&constants));
        Buffer<unsigned long long> wanted(n);
        points<curandStateSobol64_t><<<1, DIMENSIONS>>>(wanted.device, copied(host, DIMENSIONS));
        SYNC();
        ok &= agrees(CURAND_RNG_QUASI_SOBOL64, wanted, curandGenerateLongLong);
        points<curandStateScrambledSobol64_t>
            <<<1, DIMENSIONS>>>(wanted.device, copied(scrambled, DIMENSIONS), copied(constants, DIMENSIONS));
        SYNC();
        ok &= agrees(CURAND_RNG_QUASI_SCRAMBLED_SOBOL64, wanted, curandGenerateLongLong);
    }
    for (curandRngType_t type : {CURAND_RNG_QUASI_SOBOL32, CURAND_RNG_QUASI_SCRAMBLED_SOBOL32, CURAND_RNG_QUASI_SOBOL64,
                                 CURAND_RNG_QUASI_SCRAMBLED_SOBOL64})
        ok &= is_even(type);
    return finish(ok);
}
