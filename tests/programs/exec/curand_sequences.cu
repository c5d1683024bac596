//@ opt: O1
//@ seeds: 0
//@ compile-flags: -lcurand
// A seed gives the same numbers again, an offset skips some, a call goes on where the last one ended, and nothing beside
// the result is written.
#include "rand.h"

using Numbers = std::vector<float>;

Numbers part(const Numbers& all, size_t from, size_t n) { return {all.begin() + from, all.begin() + from + n}; }

int main() {
    bool ok = true;
    Numbers of_types[6];
    for (int i = 0; i < 6; i++) {
        Generator first(PSEUDO[i]), second(PSEUDO[i]), on_host(PSEUDO[i], true);
        for (curandGenerator_t generator : {first.raw, second.raw, on_host.raw})
            CUDA(curandSetPseudoRandomGeneratorSeed(generator, 42));
        Numbers all = uniform(first, 1000);
        ok &= all == uniform(second, 1000) && all == uniform(on_host, 1000);
        // It goes on, also in parts of odd length.
        Numbers more = uniform(first, 300);
        ok &= more == uniform(second, 300) && more != part(all, 0, 300);
        CUDA(curandSetPseudoRandomGeneratorSeed(first, 42));
        ok &= uniform(first, 333) == part(all, 0, 333) && uniform(first, 667) == part(all, 333, 667);
        CUDA(curandSetPseudoRandomGeneratorSeed(first, 43));
        ok &= uniform(first, 1000) != all;

        bool skips = PSEUDO[i] != CURAND_RNG_PSEUDO_MTGP32 && PSEUDO[i] != CURAND_RNG_PSEUDO_MT19937;
        curandStatus_t status = curandSetGeneratorOffset(second, 100);
        ok &= status == (skips ? CURAND_STATUS_SUCCESS : CURAND_STATUS_TYPE_ERROR);
        if (skips) ok &= uniform(second, 900) == part(all, 100, 900);
        of_types[i] = all;
    }
    // The default is XORWOW. Others have other numbers.
    ok &= of_types[0] == of_types[1];
    for (int i = 1; i < 6; i++)
        for (int j = 1; j < i; j++) ok &= of_types[i] != of_types[j];

    Buffer<unsigned> around(12);
    for (int i = 0; i < 12; i++) around[i] = 77;
    around.upload();
    Generator generator(CURAND_RNG_PSEUDO_DEFAULT);
    CUDA(curandGenerate(generator, around.device + 1, 10));
    CUDA(curandGenerate(generator, around.device, 0));
    around.download();
    ok &= around[0] == 77 && around[11] == 77 && around[1] != 77 && around[10] != 77;
    return finish(ok);
}
