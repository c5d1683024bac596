// Tiles, coalesced groups and their collectives.
#include <cooperative_groups.h>
#include "check.h"
namespace cg = cooperative_groups;

__global__ void groups(int* out) {
    cg::thread_block block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    auto tile = cg::tiled_partition<4>(warp);
    int t = block.thread_rank(), v = t;
    for (int s = tile.size() / 2; s > 0; s /= 2) v += tile.shfl_down(v, s);
    out[4 * t] = tile.shfl(v, 0);
    out[4 * t + 1] = warp.any(t == 63) * 100 + tile.meta_group_rank();
    out[4 * t + 2] = 0;
    if (t % 3 == 0) {
        cg::coalesced_group active = cg::coalesced_threads();
        out[4 * t + 2] = active.num_threads() > active.thread_rank();
    }
    block.sync();
    out[4 * t + 3] = block.group_index().x * 1000 + block.size();
}

int main() {
    Buffer<int> out(4 * 64);
    groups<<<1, 64>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int t = 0; t < 64; t++) {
        right &= out[4 * t] == 4 * (t / 4 * 4) + 6;
        right &= out[4 * t + 1] == (t >= 32 ? 100 : 0) + t % 32 / 4;
        right &= out[4 * t + 2] == (t % 3 == 0) && out[4 * t + 3] == 64;
    }
    return finish(right);
}
