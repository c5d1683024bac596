//@ compile-flags: --cuda-gpu-arch=sm_90
//@ revisions: racy fixed
//@[racy] findings: unwaited-copy
// A bulk copy tells an mbarrier of its bytes. A barrier of the block does not wait for them.
#include <cuda/ptx>
#include "check.h"

namespace ptx = cuda::ptx;

__global__ void reverse(const int* in, int* out) {
    __shared__ alignas(16) int tile[64];
    __shared__ uint64_t full;
    int t = threadIdx.x;
    if (t == 0) {
        ptx::mbarrier_init(&full, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, in, sizeof tile, &full); //~ A
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, sizeof tile);
    }
    __syncthreads();
#ifdef FIXED
    while (!ptx::mbarrier_try_wait_parity(&full, 0)) {
    }
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
