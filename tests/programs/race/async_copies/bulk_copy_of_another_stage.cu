//@ compile-flags: --cuda-gpu-arch=sm_90
//@ revisions: racy earlier fixed
//@[racy] findings: unwaited-copy
//@[earlier] known-miss: the copies of a thread are known to be done in the order in which they began
// Each of two bulk copies has an mbarrier. The threads use both tiles, and wait for one copy only: the first, or the
// second.
#include <cuda/ptx>
#include "check.h"

namespace ptx = cuda::ptx;

__global__ void reverse(const int* in, int* out) {
    __shared__ alignas(16) int tiles[2][64];
    __shared__ uint64_t full[2];
    int t = threadIdx.x;
    if (t == 0) {
        for (int s = 0; s < 2; s++) ptx::mbarrier_init(&full[s], 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
        for (int s = 0; s < 2; s++) {
            ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[s], 256);
            ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tiles[s], in + 64 * s, 256, &full[s]); //~ C
        }
    }
    __syncthreads();
#ifndef EARLIER
    while (!ptx::mbarrier_try_wait_parity(&full[0], 0)) {
    }
#endif
#ifndef RACY
    while (!ptx::mbarrier_try_wait_parity(&full[1], 0)) {
    }
#endif
    out[t] = tiles[0][t] + tiles[1][63 - t]; //~ U
}
//~ RACE[racy] write-read shared: C U
//~ RACE[earlier] write-read shared: C U

int main() {
    Buffer<int> in(128), out(64);
    iota(in);
    reverse<<<1, 64>>>(in.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == i + 64 + 63 - i;
    return finish(right);
}
