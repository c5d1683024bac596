//@ revisions: racy fixed
//@[racy] findings: missing-barrier|mask
// Lanes leave a loop one by one; those left pass values on in shared memory, as a group.
#include <cooperative_groups.h>
#include "check.h"
namespace cg = cooperative_groups;
__global__ void pass(int* out) {
    __shared__ int slot[32];
    int t = threadIdx.x, sum = 0;
    for (int round = 0; round < t; round++) {
        auto g = cg::coalesced_threads();
        slot[g.thread_rank()] = t; //~ W
#ifdef FIXED
        g.sync();
#endif
        sum += slot[(g.thread_rank() + 1) % g.size()]; //~ R
        g.sync();
    }
    out[t] = sum;
}
//~ RACE[racy] write-read|read-write shared warp: W R
int main() {
    Buffer<int> out(32);
    pass<<<1, 32>>>(out.device);
    SYNC();
    return finish(true);
}
