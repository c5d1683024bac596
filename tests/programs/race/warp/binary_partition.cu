//@ revisions: racy fixed
//@[racy] findings: mask
// `binary_partition` parts a tile by a predicate; the exchange goes across the parts.
#include <cooperative_groups.h>
#include "check.h"
namespace cg = cooperative_groups;

__global__ void exchange(int* out) {
    __shared__ int slots[32];
    int t = threadIdx.x;
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    cg::coalesced_group part = cg::binary_partition(warp, t % 2 == 1);
    slots[t] = 9 * t; //~ A
    part.sync();
#ifdef FIXED
    warp.sync();
#endif
    out[t] = slots[t ^ 1]; //~ B
}
//~ RACE[racy] write-read shared warp: A B

int main() {
    Buffer<int> out(32);
    exchange<<<1, 32>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 32; i++) right &= out[i] == 9 * (i ^ 1);
    return finish(right);
}
