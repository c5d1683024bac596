//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// One thread of a group runs a function for all of it; the others do not wait for it.
#include <cooperative_groups.h>
#include "check.h"
namespace cg = cooperative_groups;

__global__ void announce(int* out) {
    __shared__ int value[2];
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    int w = threadIdx.x / 32;
    cg::invoke_one(tile, [&] {
        value[w] = 5 + w; //~ A
    });
#ifdef FIXED
    tile.sync();
#endif
    out[threadIdx.x] = value[w]; //~ B
}
//~ RACE[racy] write-read shared warp: A B

int main() {
    Buffer<int> out(64);
    announce<<<1, 64>>>(out.device);
    SYNC();
    out.download();
    return finish(out[0] == 5 && out[32] == 6);
}
