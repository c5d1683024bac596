//@ compile-flags: --cuda-gpu-arch=sm_90
//@ revisions: racy fixed
//@[racy] findings: early-release
// One thread loads tiles of a matrix into two buffers in turn, others sum them. They say that they have used a buffer
// before they do.
#include "tensor_map.h"

const int X = 32, Y = 4, TILES = 5, STAGES = 2;

__global__ void sum(const __grid_constant__ CUtensorMap map, int* out) {
    __shared__ alignas(128) int tiles[STAGES][Y][X];
    __shared__ uint64_t full[STAGES], used[STAGES];
    int t = threadIdx.x;
    if (t == 0) {
        for (int s = 0; s < STAGES; s++) {
            ptx::mbarrier_init(&full[s], 1);
            ptx::mbarrier_init(&used[s], X);
        }
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    __syncthreads();
    if (t == X) {
        for (int i = 0; i < TILES; i++) {
            int s = i % STAGES;
            if (i >= STAGES) wait(&used[s], i / STAGES - 1);
            const int32_t at[] = {0, Y * i};
            ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[s], 4 * X * Y);
            ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tiles[s], &map, at, &full[s]); //~ C
        }
    } else if (t < X) {
        int total = 0;
        for (int i = 0; i < TILES; i++) {
            int s = i % STAGES;
            wait(&full[s], i / STAGES);
#ifndef FIXED
            ptx::mbarrier_arrive(&used[s]);
#endif
            for (int y = 0; y < Y; y++) total += tiles[s][y][t]; //~ U
#ifdef FIXED
            ptx::mbarrier_arrive(&used[s]);
#endif
        }
        out[t] = total;
    }
}
//~ RACE[racy] read-write|write-read shared: U C

int main() {
    Buffer<int> in(X * Y * TILES), out(X);
    iota(in);
    sum<<<1, 2 * X>>>(matrix(X, Y * TILES, X, Y).map(in.device), out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int x = 0; x < X; x++) {
        int wanted = 0;
        for (int y = 0; y < Y * TILES; y++) wanted += X * y + x;
        right &= out[x] == wanted;
    }
    return finish(right);
}
