//@ compile-flags: --cuda-gpu-arch=sm_90
//@ revisions: racy fixed
//@[racy] findings: unwaited-copy
// From sm_90 on `cuda::memcpy_async` with a barrier in shared memory is one bulk copy for the whole group.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include "check.h"

__global__ void reverse(const int* in, int* out) {
    __shared__ alignas(16) int tile[64];
    __shared__ cuda::barrier<cuda::thread_scope_block> copied;
    auto block = cooperative_groups::this_thread_block();
    int t = threadIdx.x;
    if (t == 0) init(&copied, block.size());
    block.sync();
    cuda::memcpy_async(block, tile, in, cuda::aligned_size_t<16>(sizeof tile), copied); //~ A
#ifdef FIXED
    copied.arrive_and_wait();
#else
    block.sync();
#endif
    out[t] = tile[63 - t]; //~ B
}
//~ RACE[racy] write-read shared: A B

int main() {
    Buffer<int> in(64), out(64);
    iota(in);
    reverse<<<1, 64>>>(in.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == 63 - i;
    return finish(right);
}
