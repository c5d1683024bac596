//@ revisions: racy fixed
//@[racy] findings: mask
// `labeled_partition` makes one group of the lanes with one label; lanes with
// another label are not waited for.
#include <cooperative_groups.h>
#include "check.h"
namespace cg = cooperative_groups;

__global__ void exchange(int* out) {
    __shared__ int slots[32];
    int t = threadIdx.x;
    cg::coalesced_group warp = cg::coalesced_threads();
    cg::coalesced_group same = cg::labeled_partition(warp, t % 4);
    slots[t] = t * t; //~ A
    same.sync();
#ifdef FIXED
    int from = (t + 4) % 32;
#else
    int from = (t + 3) % 32;
#endif
    out[t] = slots[from]; //~ B
}
//~ RACE[racy] write-read shared warp: A B

int main() {
    Buffer<int> out(32);
    exchange<<<1, 32>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 32; i++) right &= out[i] == ((i + 4) % 32) * ((i + 4) % 32);
    return finish(right);
}
