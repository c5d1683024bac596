//@ revisions: racy fixed
//@[racy] findings: missing-fence
// The lock is fenced, the unlock is not: the write may leak out of the section.
#include "check.h"

__global__ void count(int* lock, int* counter) {
    if (threadIdx.x) return;
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
    *counter += 1; //~ A
#ifdef FIXED
    __threadfence();
#endif
    atomicExch(lock, 0);
}
//~ RACE[racy] write-read|write-write global grid: A A

int main() {
    Buffer<int> lock(1), counter(1);
    count<<<6, 32>>>(lock.device, counter.device);
    SYNC();
    counter.download();
    return finish(counter[0] == 6);
}
