//@ revisions: racy fixed
//@[racy] findings: mask
// Cooperative groups: the barrier of a tile orders the tile, not its neighbours.
#include <cooperative_groups.h>
#include "check.h"
namespace cg = cooperative_groups;

__global__ void exchange(int* out) {
    __shared__ int slots[32];
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    int t = threadIdx.x;
    slots[t] = 5 * t; //~ A
#ifdef FIXED
    block.sync();
#else
    tile.sync();
#endif
    out[t] = slots[(t + 8) % 32]; //~ B
    (void)tile;
}
//~ RACE[racy] write-read shared warp: A B

int main() {
    Buffer<int> out(32);
    exchange<<<1, 32>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 32; i++) right &= out[i] == 5 * ((i + 8) % 32);
    return finish(right);
}
