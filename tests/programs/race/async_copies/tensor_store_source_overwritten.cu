//@ compile-flags: --cuda-gpu-arch=sm_90
//@ revisions: racy fixed
//@[racy] findings: unwaited-copy
// A copy of a tile to a matrix reads its source until its group is waited for.
#include "tensor_map.h"

const int X = 16, Y = 4, ROUNDS = 3;

__global__ void tables(const __grid_constant__ CUtensorMap map) {
    __shared__ alignas(128) int tile[Y][X];
    int x = threadIdx.x, y = threadIdx.y;
    for (int r = 0; r < ROUNDS; r++) {
        tile[y][x] = 100 * r + x + y; //~ W
        ptx::fence_proxy_async(ptx::space_shared);
        __syncthreads();
        if (x == 0 && y == 0) {
            const int32_t at[] = {0, Y * r};
            ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &map, at, tile); //~ R
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
    Buffer<int> out(X * Y * ROUNDS);
    tables<<<1, dim3(X, Y)>>>(matrix(X, Y * ROUNDS, X, Y).map(out.device));
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < X * Y * ROUNDS; i++) right &= out[i] == 100 * (i / X / Y) + i % X + i / X % Y;
    return finish(right);
}
