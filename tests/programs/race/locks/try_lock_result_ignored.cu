//@ revisions: racy fixed
//@[racy] findings: missing-atomic
//@[racy] wrong-finding: the result of the lock is ignored
// Who does not get the lock must not go in.
#include "check.h"

__global__ void count(int* lock, int* counter, int* skipped) {
    if (threadIdx.x) return;
    bool held = atomicCAS(lock, 0, 1) == 0;
    if (held) __threadfence();
#ifdef FIXED
    if (!held) {
        atomicAdd(skipped, 1);
        return;
    }
#endif
    *counter += 1; //~ A
}
//~ RACE[racy] write-read|write-write global grid: A A

int main() {
    Buffer<int> lock(1), counter(1), skipped(1);
    count<<<5, 32>>>(lock.device, counter.device, skipped.device);
    SYNC();
    counter.download();
    skipped.download();
    return finish(counter[0] == 1 && skipped[0] == 4);
}
