//@ revisions: first_releases_nothing last_releases_nothing first_acquires_nothing last_acquires_nothing fixed
//@ opt: O1
//@[first_acquires_nothing] findings: missing-fence
//@[first_releases_nothing] findings: missing-fence
//@[last_acquires_nothing] findings: missing-fence
//@[last_releases_nothing] findings: missing-fence
// One of four warps uses a ticket lock in shared memory wrongly: a race if it is not the last to hold the
// lock, or not the first.
#include "check.h"

#if defined(FIRST_RELEASES_NOTHING) || defined(FIRST_ACQUIRES_NOTHING)
#define WRONG (threadIdx.x == 0)
#elif defined(FIXED)
#define WRONG false
#else
#define WRONG (threadIdx.x == 96)
#endif

__global__ void count(int* out) {
    __shared__ unsigned next, serving;
    __shared__ int counter;
    if (threadIdx.x == 0) next = serving = counter = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        unsigned ticket = atomicAdd(&next, 1);
        while (atomicAdd(&serving, 0) != ticket) {
        }
#if defined(FIRST_ACQUIRES_NOTHING) || defined(LAST_ACQUIRES_NOTHING)
        if (!WRONG)
#endif
            __threadfence_block();
        counter += 1; //~ A
#if defined(FIRST_RELEASES_NOTHING) || defined(LAST_RELEASES_NOTHING)
        if (!WRONG)
#endif
            __threadfence_block();
        atomicAdd(&serving, 1);
    }
    __syncthreads();
    if (threadIdx.x == 0) *out = counter;
}
//~ RACE[first_releases_nothing] write-read|write-write shared block: A A
//~ RACE[last_releases_nothing] write-read|write-write shared block: A A
//~ RACE[first_acquires_nothing] write-read|write-write shared block: A A
//~ RACE[last_acquires_nothing] write-read|write-write shared block: A A

int main() {
    Buffer<int> out(1);
    count<<<1, 128>>>(out.device);
    SYNC();
    out.download();
    return finish(out[0] == 4);
}
