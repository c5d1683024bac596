//@ revisions: racy fixed
//@[racy] findings: missing-barrier|mask
// A scan in tiles: a lane adds to its element while the next one may still read it.
#include <cooperative_groups.h>
#include "check.h"
namespace cg = cooperative_groups;

__global__ void scan(const int* in, int* out) {
    __shared__ int s[64];
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int t = threadIdx.x, rank = tile.thread_rank();
    s[t] = in[t];
    tile.sync();
    for (int k = 1; k < 16; k *= 2) {
        int more = rank >= k ? s[t - k] : 0; //~ A
#ifdef FIXED
        tile.sync();
#endif
        s[t] += more; //~ B
        tile.sync();
    }
    out[t] = s[t];
}
//~ RACE[racy] read-write shared warp: A B

int main() {
    Buffer<int> in(64), out(64);
    iota(in);
    scan<<<1, 64>>>(in.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == (i / 16 * 32 + i % 16) * (i % 16 + 1) / 2;
    return finish(right);
}
