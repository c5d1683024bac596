//@ opt: O1
//@ seeds: 0
//@ compile-flags: -lcurand
// Kernels draw from a distribution that the host has made: from a table, and above 2000 from rounded normal numbers.
#include <curand_kernel.h>

#include "rand.h"

const int THREADS = 256, EACH = 100;

template <class State>
__global__ void draw(curandDiscreteDistribution_t distribution, unsigned* to) {
    State state;
    curand_init(5, threadIdx.x, 0, &state);
    for (int i = 0; i < EACH; i++) to[threadIdx.x * EACH + i] = curand_discrete(&state, distribution);
}

template <class State>
bool draws(double lambda) {
    curandDiscreteDistribution_t distribution;
    CUDA(curandCreatePoissonDistribution(lambda, &distribution));
    Buffer<unsigned> found(THREADS * EACH);
    draw<State><<<1, THREADS>>>(distribution, found.device);
    SYNC();
    found.download();
    CUDA(curandDestroyDistribution(distribution));
    bool ok = has_moments("Poisson", std::vector<unsigned>(found.host, found.host + found.count), lambda, lambda);
    return ok & (curandDestroyDistribution(distribution) == CURAND_STATUS_NOT_INITIALIZED);
}

int main() {
    bool ok = true;
    for (double lambda : {0.5, 1.0, 40.0, 2000.0, 2001.0, 400000.0})
        ok &= draws<curandStateXORWOW_t>(lambda) & draws<curandStatePhilox4_32_10_t>(lambda);
    curandDiscreteDistribution_t none;
    for (double lambda : {0.0, -1.0, 400000.5, double(NAN)})
        ok &= curandCreatePoissonDistribution(lambda, &none) == CURAND_STATUS_OUT_OF_RANGE;
    ok &= curandCreatePoissonDistribution(1, nullptr) == CURAND_STATUS_NOT_INITIALIZED;
    return finish(ok);
}
