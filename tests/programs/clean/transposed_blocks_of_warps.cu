// One warp per row, then one warp per column, with a barrier in between.
#include "check.h"

__global__ void row_then_column(int* out) {
    __shared__ int grid[8][33];
    int lane = threadIdx.x, warp = threadIdx.y;
    grid[warp][lane] = warp * 32 + lane;
    __syncthreads();
    int sum = 0;
    if (warp == 0)
        for (int w = 0; w < 8; w++) sum += grid[w][lane];
    __syncthreads();
    if (warp == 0) grid[0][lane] = sum;
    __syncthreads();
    if (warp == 7) out[lane] = grid[0][lane];
}

int main() {
    Buffer<int> out(32);
    row_then_column<<<1, dim3(32, 8)>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 32; i++) right &= out[i] == 8 * i + 32 * 28;
    return finish(right);
}
