//@ revisions: racy fixed
//@[racy] findings: missing-fence
// A ticket lock whose waiters never acquire what the last holder did.
#include "check.h"

__global__ void count(unsigned* next, unsigned* serving, int* counter) {
    if (threadIdx.x) return;
    unsigned ticket = atomicAdd(next, 1);
    while (atomicAdd(serving, 0) != ticket) {
    }
#ifdef FIXED
    __threadfence();
#endif
    *counter += 1; //~ A
    __threadfence();
    atomicAdd(serving, 1);
}
//~ RACE[racy] write-read|write-write global grid: A A

int main() {
    Buffer<unsigned> next(1), serving(1);
    Buffer<int> counter(1);
    count<<<5, 32>>>(next.device, serving.device, counter.device);
    SYNC();
    counter.download();
    return finish(counter[0] == 5);
}
