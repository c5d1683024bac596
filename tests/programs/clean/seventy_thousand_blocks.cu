//@ opt: O2
//@ seeds: 0
// More blocks than 16 bits can count hand one counter on by atomics.
#include "check.h"

__global__ void count(unsigned* counter, unsigned* seen) {
    unsigned ticket = atomicAdd(counter, 1);
    seen[ticket] = blockIdx.x;
}

int main() {
    const int blocks = 70000;
    Buffer<unsigned> counter(1), seen(blocks);
    count<<<blocks, 1>>>(counter.device, seen.device);
    SYNC();
    counter.download();
    seen.download();
    unsigned long long sum = 0;
    for (int i = 0; i < blocks; i++) sum += seen[i];
    return finish(counter[0] == blocks && sum == (unsigned long long)blocks * (blocks - 1) / 2);
}
