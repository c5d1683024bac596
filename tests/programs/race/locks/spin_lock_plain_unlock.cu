//@ revisions: racy fixed
//@[racy] findings: missing-atomic
// A plain store opens the lock: that store races with those who try to take it.
#include "check.h"

__global__ void count(int* lock, int* counter) {
    if (threadIdx.x) return;
    while (atomicCAS(lock, 0, 1) != 0) { //~ A
    }
    __threadfence();
    atomicAdd(counter, 1);
    __threadfence();
#ifdef FIXED
    atomicExch(lock, 0);
#else
    *lock = 0; //~ B
#endif
}
//~ RACE[racy] atomic-write global grid: A B
// The atomic of the next holder changes the word between the two stores: what memory
// holds then says nothing of the first one.
//~ RACE[racy] write-write global grid unknown-value: B B

int main() {
    Buffer<int> lock(1), counter(1);
    count<<<4, 32>>>(lock.device, counter.device);
    SYNC();
    counter.download();
    return finish(counter[0] == 4);
}
