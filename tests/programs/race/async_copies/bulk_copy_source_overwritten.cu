//@ compile-flags: --cuda-gpu-arch=sm_90
//@ revisions: racy fixed
//@[racy] findings: unwaited-copy
// A bulk copy to global memory reads its source until its group is waited for.
#include <cuda/ptx>
#include "check.h"

namespace ptx = cuda::ptx;

__global__ void tables(int* out, int rounds) {
    __shared__ alignas(16) int tile[64];
    int t = threadIdx.x;
    for (int r = 0; r < rounds; r++) {
        tile[t] = 100 * r + t; //~ W
        ptx::fence_proxy_async(ptx::space_shared);
        __syncthreads();
        if (t == 0) {
            ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + 64 * r, tile, sizeof tile); //~ R
            ptx::cp_async_bulk_commit_group();
#ifdef FIXED
            ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
#endif
        }
        __syncthreads();
    }
}
//~ RACE[racy] read-write shared: R W

int main() {
    Buffer<int> out(4 * 64);
    tables<<<1, 64>>>(out.device, 4);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 4 * 64; i++) right &= out[i] == 100 * (i / 64) + i % 64;
    return finish(right);
}
