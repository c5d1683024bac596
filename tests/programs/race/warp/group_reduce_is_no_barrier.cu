//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// Reductions and scans of cooperative groups exchange values by shuffles. They order no memory.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include "check.h"
namespace cg = cooperative_groups;

__global__ void spread(const int* in, int* out) {
    __shared__ int values[64];
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    int t = threadIdx.x, lane = tile.thread_rank();
    int before = cg::exclusive_scan(tile, in[t], cg::plus<int>());
    values[t] = before; //~ A
    int sum = cg::reduce(tile, in[t], cg::plus<int>());
#ifdef FIXED
    tile.sync();
#endif
    out[t] = sum + values[t - lane + 31 - lane]; //~ B
}
//~ RACE[racy] write-read shared warp: A B

int main() {
    Buffer<int> in(64), out(64);
    iota(in);
    spread<<<1, 64>>>(in.device, out.device);
    SYNC();
    out.download();
    return finish(out[31] == 31 * 16 && out[0] == 31 * 16 + 31 * 15);
}
