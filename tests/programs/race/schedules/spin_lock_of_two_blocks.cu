//@ revisions: first_releases_nothing last_releases_nothing first_acquires_nothing last_acquires_nothing first_releases_in_block last_acquires_in_block fixed
//@ opt: O1
//@[first_acquires_nothing] findings: missing-fence
//@[first_releases_in_block] findings: missing-fence
//@[first_releases_nothing] findings: missing-fence
//@[last_acquires_in_block] findings: missing-fence
//@[last_acquires_nothing] findings: missing-fence
//@[last_releases_nothing] findings: missing-fence
// One of two blocks uses a lock wrongly. If it must release, the race shows only if it takes the lock
// first; if it must acquire, only if it takes it second. Another run of the launch turns the order round.
#include "check.h"

#if defined(FIRST_RELEASES_NOTHING) || defined(FIRST_ACQUIRES_NOTHING) || defined(FIRST_RELEASES_IN_BLOCK)
#define WRONG (blockIdx.x == 0)
#else
#define WRONG (blockIdx.x == gridDim.x - 1)
#endif

__device__ void acquire() {
#if defined(FIRST_ACQUIRES_NOTHING) || defined(LAST_ACQUIRES_NOTHING)
    if (WRONG) return;
#elif defined(LAST_ACQUIRES_IN_BLOCK)
    if (WRONG) return __threadfence_block();
#endif
    __threadfence();
}

__device__ void release() {
#if defined(FIRST_RELEASES_NOTHING) || defined(LAST_RELEASES_NOTHING)
    if (WRONG) return;
#elif defined(FIRST_RELEASES_IN_BLOCK)
    if (WRONG) return __threadfence_block();
#endif
    __threadfence();
}

__global__ void count(int* lock, int* counter) {
    if (threadIdx.x) return;
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    acquire();
    *counter += 1; //~ A
    release();
    atomicExch(lock, 0);
}
//~ RACE[first_releases_nothing] write-read|write-write global grid: A A
//~ RACE[last_releases_nothing] write-read|write-write global grid: A A
//~ RACE[first_acquires_nothing] write-read|write-write global grid: A A
//~ RACE[last_acquires_nothing] write-read|write-write global grid: A A
//~ RACE[first_releases_in_block] write-read|write-write global grid: A A
//~ RACE[last_acquires_in_block] write-read|write-write global grid: A A

int main() {
    Buffer<int> lock(1), counter(1);
    count<<<2, 256>>>(lock.device, counter.device);
    SYNC();
    counter.download();
    return finish(counter[0] == 2);
}
