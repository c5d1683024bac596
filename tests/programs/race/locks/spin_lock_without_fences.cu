//@ revisions: racy fixed
//@[racy] findings: missing-fence
// A lock by compare-and-swap: without fences it excludes, and orders nothing.
#include "check.h"

__global__ void count(int* lock, int* counter) {
    if (threadIdx.x) return;
    while (atomicCAS(lock, 0, 1) != 0) {
    }
#ifdef FIXED
    __threadfence();
#endif
    *counter += 1; //~ A
#ifdef FIXED
    __threadfence();
#endif
    atomicExch(lock, 0);
}
//~ RACE[racy] write-read|write-write global grid: A A

int main() {
    Buffer<int> lock(1), counter(1);
    count<<<8, 32>>>(lock.device, counter.device);
    SYNC();
    counter.download();
    return finish(counter[0] == 8);
}
