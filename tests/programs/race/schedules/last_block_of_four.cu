//@ revisions: one_releases_nothing last_releases_nothing one_acquires_nothing fixed
//@ opt: O1
//@[last_releases_nothing] findings: missing-fence
//@[one_acquires_nothing] findings: missing-fence
//@[one_releases_nothing] findings: missing-fence
// The last of four blocks adds up what all have stored. One of them has no fence: a race if it is not the
// last, or, if its fence should acquire, only if it is.
#include "check.h"

#ifdef LAST_RELEASES_NOTHING
#define WRONG (blockIdx.x == 3)
#else
#define WRONG (blockIdx.x == 1)
#endif

__global__ void sum(int* parts, unsigned* count, int* out) {
    if (threadIdx.x) return;
    parts[blockIdx.x] = blockIdx.x; //~ A
#if defined(ONE_RELEASES_NOTHING) || defined(LAST_RELEASES_NOTHING)
    if (!WRONG)
#endif
        __threadfence();
    if (atomicAdd(count, 1) != gridDim.x - 1) return;
#ifdef ONE_ACQUIRES_NOTHING
    if (!WRONG)
#endif
        __threadfence();
    int all = 0;
    for (int i = 0; i < 4; i++) all += parts[i]; //~ B
    *out = all;
}
//~ RACE[one_releases_nothing] write-read global grid: A B
//~ RACE[last_releases_nothing] write-read global grid: A B
//~ RACE[one_acquires_nothing] write-read global grid: A B

int main() {
    Buffer<int> parts(4), out(1);
    Buffer<unsigned> count(1);
    sum<<<4, 32>>>(parts.device, count.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 6);
}
