//@ revisions: racy fixed
//@[racy] findings: mask
// Eight lanes sum up their numbers, but only four wait for each other.
#include <cooperative_groups.h>
#include "check.h"
namespace cg = cooperative_groups;

#ifdef FIXED
constexpr int TILE = 8;
#else
constexpr int TILE = 4;
#endif

__global__ void reduce(const int* in, int* out) {
    __shared__ int s[64];
    auto tile = cg::tiled_partition<TILE>(cg::this_thread_block());
    int t = threadIdx.x;
    s[t] = in[t]; //~ A
    tile.sync();
    int value = t % 8 < 4 ? s[t + 4] : 0; //~ B
    tile.sync();
    for (int k = 2; k > 0; k /= 2) {
        if (t % 4 < k) value += 0;
        tile.sync();
    }
    out[t] = value;
}
//~ RACE[racy] write-read shared warp: A B

int main() {
    Buffer<int> in(64), out(64);
    iota(in);
    reduce<<<1, 64>>>(in.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == (i % 8 < 4 ? i + 4 : 0);
    return finish(right);
}
