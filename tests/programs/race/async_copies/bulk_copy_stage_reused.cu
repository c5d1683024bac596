//@ compile-flags: --cuda-gpu-arch=sm_90
//@ revisions: racy fixed
//@[racy] findings: early-release
// One warp fills a ring of tiles by bulk copies, the others use them. They say that they have used a tile before they do.
#include <cuda/ptx>
#include "check.h"

namespace ptx = cuda::ptx;

const int STAGES = 2, WORDS = 64, TILES = 6, USERS = 64;

__device__ void wait(uint64_t* barrier, int phase) {
    while (!ptx::mbarrier_try_wait_parity(barrier, phase % 2)) {
    }
}

__global__ void sum(const int* in, int* out) {
    __shared__ alignas(16) int tiles[STAGES][WORDS];
    __shared__ uint64_t full[STAGES], used[STAGES];
    int t = threadIdx.x;
    if (t == 0) {
        for (int s = 0; s < STAGES; s++) {
            ptx::mbarrier_init(&full[s], 1);
            ptx::mbarrier_init(&used[s], USERS);
        }
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    __syncthreads();
    if (t < 32) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
        if (t != 0) return;
        for (int i = 0; i < TILES; i++) {
            int s = i % STAGES;
            if (i >= STAGES) wait(&used[s], i / STAGES - 1);
            ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[s], 4 * WORDS);
            ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tiles[s], in + WORDS * i, 4 * WORDS, &full[s]); //~ C
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
        int total = 0, user = t - 32;
        for (int i = 0; i < TILES; i++) {
            int s = i % STAGES;
            wait(&full[s], i / STAGES);
#ifndef FIXED
            ptx::mbarrier_arrive(&used[s]);
#endif
            total += tiles[s][WORDS - 1 - user]; //~ U
#ifdef FIXED
            ptx::mbarrier_arrive(&used[s]);
#endif
        }
        out[user] = total;
    }
}
//~ RACE[racy] read-write|write-read shared: U C

int main() {
    Buffer<int> in(WORDS * TILES), out(USERS);
    iota(in);
    sum<<<1, 32 + USERS>>>(in.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int u = 0; u < USERS; u++) {
        int wanted = 0;
        for (int i = 0; i < TILES; i++) wanted += WORDS * i + WORDS - 1 - u;
        right &= out[u] == wanted;
    }
    return finish(right);
}
