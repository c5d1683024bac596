//@ revisions: racy fixed
//@[racy] findings: unwaited-copy
// Two stages of copies by a group, of which only the older one is waited for.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include "check.h"
namespace cg = cooperative_groups;
__global__ void sum(const int* in, int* out) {
    alignas(16) __shared__ int stage[2][64];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, stage[0], in, sizeof(stage[0])); //~ C
    int total = 0;
    for (int i = 0; i < 4; i++) {
        if (i < 3) cg::memcpy_async(block, stage[(i + 1) % 2], in + 64 * (i + 1), sizeof(stage[0])); //~ D
#ifdef RACY
        cg::wait_prior<1>(block);
#else
        if (i < 3) cg::wait_prior<1>(block); else cg::wait_prior<0>(block);
#endif
        total += stage[i % 2][63 - threadIdx.x]; //~ R
        block.sync();
    }
    out[threadIdx.x] = total;
}
//~ RACE[racy] write-read|read-write shared: D R
int main() {
    Buffer<int> in(256), out(64);
    iota(in);
    sum<<<1, 64>>>(in.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 63 * 4 + 64 * 6);
}
