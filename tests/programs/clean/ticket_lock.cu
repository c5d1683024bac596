// A ticket lock with fences protects a plain counter.
#include "check.h"

__global__ void count(unsigned* next, unsigned* serving, int* counter) {
    if (threadIdx.x) return;
    for (int round = 0; round < 3; round++) {
        unsigned ticket = atomicAdd(next, 1);
        while (atomicAdd(serving, 0) != ticket) {
        }
        __threadfence();
        *counter += 1;
        __threadfence();
        atomicAdd(serving, 1);
    }
}

int main() {
    Buffer<unsigned> next(1), serving(1);
    Buffer<int> counter(1);
    count<<<6, 32>>>(next.device, serving.device, counter.device);
    SYNC();
    counter.download();
    return finish(counter[0] == 18);
}
