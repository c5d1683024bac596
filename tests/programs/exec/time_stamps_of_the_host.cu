// The host reads its time stamps by the header's names. A program may define `__rdtsc` instead: `words_of_nvcc`.
#include <x86intrin.h>

#include "check.h"

__global__ void fill(unsigned* out) { out[threadIdx.x] = threadIdx.x; }

int main() {
    Buffer<unsigned> out(32);
    unsigned processor;
    unsigned long long before = __rdtsc();
    fill<<<1, 32>>>(out.device);
    SYNC();
    out.download();
    return finish(before < __rdtscp(&processor) && before < _rdtsc() && out[31] == 31);
}
