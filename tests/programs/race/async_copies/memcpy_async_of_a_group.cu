//@ revisions: racy fixed
//@[racy] findings: unwaited-copy
// cooperative_groups::memcpy_async copies together, cooperative_groups::wait
// waits for all of it.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include "check.h"
namespace cg = cooperative_groups;

__global__ void reverse(const int* in, int* out) {
    __shared__ __align__(16) int tile[128];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, tile, in, sizeof(tile)); //~ A
#ifdef FIXED
    cg::wait(block);
#else
    block.sync();
#endif
    out[threadIdx.x] = tile[127 - threadIdx.x]; //~ B
}
//~ RACE[racy] write-read shared: A B

int main() {
    Buffer<int> in(128), out(128);
    iota(in);
    reverse<<<1, 128>>>(in.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 128; i++) right &= out[i] == 127 - i;
    return finish(right);
}
