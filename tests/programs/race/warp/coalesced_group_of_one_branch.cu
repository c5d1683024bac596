//@ revisions: racy fixed
//@[racy] findings: mask
// `coalesced_threads()` in a branch holds the branch's lanes: its barrier orders
// them, and not those of the other branch.
#include <cooperative_groups.h>
#include "check.h"
namespace cg = cooperative_groups;

__global__ void exchange(int* out) {
    __shared__ int slots[32];
    int t = threadIdx.x;
    slots[t] = 3 * t; //~ A
    if (t % 2 == 0) {
        cg::coalesced_group evens = cg::coalesced_threads();
        evens.sync();
#ifdef FIXED
        out[t] = slots[(t + 2) % 32];
#else
        out[t] = slots[(t + 1) % 32]; //~ B
#endif
    }
}
//~ RACE[racy] write-read shared warp: A B

int main() {
    Buffer<int> out(32);
    exchange<<<1, 32>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 32; i += 2) right &= out[i] == 3 * ((i + 2) % 32);
    return finish(right);
}
