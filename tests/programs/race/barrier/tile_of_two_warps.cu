//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// A tile of 64 threads orders its two warps, and nobody else. Its tiles share one word to meet at, so that one
// may by chance be ordered after what another did before.
#include <cooperative_groups.h>
#include "check.h"
namespace cg = cooperative_groups;
#ifdef FIXED
const int OTHER = 32;
#else
const int OTHER = 64;
#endif
__global__ void swap(int* out) {
    __shared__ cg::block_tile_memory<128> memory;
    __shared__ int value[128];
    auto block = cg::this_thread_block(memory);
    auto tile = cg::tiled_partition<64>(block);
    int t = threadIdx.x;
    value[t] = t; //~ W
    tile.sync();
    out[t] = value[t ^ OTHER]; //~ R
#ifdef FIXED
    tile.sync();
#endif
    value[t] = 0; //~ Z
}
//~ RACE?[racy] write-read|read-write shared block: W R
//~ RACE[racy] read-write|write-read shared block: R Z
int main() {
    Buffer<int> out(128);
    swap<<<1, 128>>>(out.device);
    SYNC();
    out.download();
    return finish(out[5] == 37 && out[100] == 68);
}
