//@ revisions: racy fixed
//@[racy] findings: mask
// A tile of 4 cut out of a tile of 16: the barrier of the small one is too small.
#include <cooperative_groups.h>
#include "check.h"
namespace cg = cooperative_groups;

__global__ void exchange(int* out) {
    __shared__ int slots[64];
    auto large = cg::tiled_partition<16>(cg::this_thread_block());
    auto small = cg::tiled_partition<4>(large);
    int t = threadIdx.x, base = t / 16 * 16;
    slots[t] = t + small.meta_group_rank(); //~ A
#ifdef FIXED
    large.sync();
#else
    small.sync();
#endif
    out[t] = slots[base + (t + 4) % 16]; //~ B
}
//~ RACE[racy] write-read shared warp: A B

int main() {
    Buffer<int> out(64);
    exchange<<<1, 64>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) {
        int from = i / 16 * 16 + (i + 4) % 16;
        right &= out[i] == from + from % 16 / 4;
    }
    return finish(right);
}
