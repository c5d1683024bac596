//@ revisions: racy fixed
//@[racy] findings: missing-fence
// Odd and even blocks take different locks and then touch one counter.
#include "check.h"

__global__ void count(int* locks, int* counter) {
    if (threadIdx.x) return;
#ifdef FIXED
    int* lock = &locks[0];
#else
    int* lock = &locks[blockIdx.x % 2];
#endif
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
    *counter += 1; //~ A
    __threadfence();
    atomicExch(lock, 0);
}
//~ RACE[racy] write-read|write-write global grid: A A

int main() {
    Buffer<int> locks(2), counter(1);
    count<<<6, 32>>>(locks.device, counter.device);
    SYNC();
    counter.download();
    return finish(counter[0] == 6);
}
