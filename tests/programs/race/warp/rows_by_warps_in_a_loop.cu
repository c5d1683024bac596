//@ revisions: racy fixed
//@[racy] findings: missing-barrier
//@[racy] fixes: 1
// Each warp takes rows in turn, so warps run the loop by themselves. It loads a row into shared memory and rotates it in
// place. The racy form lacks the __syncwarp() between the two loops, which begin with the same index.
#include "check.h"

__global__ void rotate(float* rows, float* sums, int count) {
    __shared__ float held[4][48];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int r = warp; r < count; r += blockDim.x / 32) {
        float* row = rows + r * 48;
        for (int i = lane; i < 48; i += 32)
            held[warp][i] = row[i]; //~ LOAD
#ifdef FIXED
        __syncwarp();
#endif
        float sum = 0;
        for (int i = lane; i < 48; i += 32) {
            float old = held[warp][(i + 1) % 48]; //~ USE
            row[i] = old;
            sum += old;
        }
        for (int other = 16; other > 0; other /= 2)
            sum += __shfl_down_sync(0xffffffff, sum, other);
        if (lane == 0) sums[r] = sum;
        __syncwarp();
    }
}

int main() {
    Buffer<float> rows(10 * 48), sums(10);
    iota(rows);
    rotate<<<1, 128>>>(rows.device, sums.device, 10);
    SYNC();
    rows.download();
    bool right = true;
    for (int r = 0; r < 10; r++)
        for (int i = 0; i < 48; i++) right &= rows[r * 48 + i] == r * 48 + (i + 1) % 48;
    return finish(right);
}
//~ RACE[racy] write-read shared warp: LOAD USE
