//@ compile-flags: --cuda-gpu-arch=sm_90
//@ revisions: racy fixed
//@[racy] findings: several-writers
// Blocks store boxes of a matrix. Boxes of neighbouring blocks have a column of 16 bytes in common. What a box has
// outside of the matrix is not stored.
#include "tensor_map.h"

const int X = 16, Y = 4;
#ifdef FIXED
const int STEP = X;
#else
const int STEP = X - 4;
#endif

__global__ void fill(const __grid_constant__ CUtensorMap map) {
    __shared__ alignas(128) int tile[Y][X];
    int x = threadIdx.x, y = threadIdx.y;
    tile[y][x] = 10 * blockIdx.x;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (x == 0 && y == 0) {
        const int32_t at[] = {int32_t(STEP * blockIdx.x), 0};
        ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &map, at, tile); //~ S
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
}
//~ RACE[racy] write-write global: S S

int main() {
    // The last box ends after the last column.
    const int width = 3 * X - 8;
    Buffer<int> out(width * Y);
    fill<<<3, dim3(X, Y)>>>(matrix(width, Y, X, Y).map(out.device));
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < width * Y; i++) right &= out[i] == 10 * (i % width / STEP);
    return finish(right);
}
