//@ revisions: racy fixed
//@[racy] findings: narrow-scope
// A lock of block scope: nothing keeps two blocks from holding it at once, its own
// accesses race, and what it guards does.
#include "check.h"

#ifdef FIXED
#define CAS atomicCAS
#define EXCH atomicExch
#define FENCE __threadfence
#else
#define CAS atomicCAS_block
#define EXCH atomicExch_block
#define FENCE __threadfence_block
#endif

__global__ void count(int* lock, int* counter) {
    if (threadIdx.x) return;
    while (CAS(lock, 0, 1) != 0) { //~ L
    }
    FENCE();
    *counter += 1; //~ A
    FENCE();
    EXCH(lock, 0); //~ U
}
//~ RACE[racy] write-read|write-write global grid: A A
//~ RACE[racy] atomic-atomic global grid: L U
//~ RACE?[racy] atomic-atomic global grid: L L
//~ RACE?[racy] atomic-atomic global grid: U U

int main() {
    Buffer<int> lock(1), counter(1);
    count<<<6, 32>>>(lock.device, counter.device);
    SYNC();
    counter.download();
    return finish(counter[0] == 6);
}
