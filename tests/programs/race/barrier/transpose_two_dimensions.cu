//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// A 16 x 16 block transposes through shared memory without a barrier.
#include "check.h"

__global__ void transpose(const int* in, int* out, int n) {
    __shared__ int tile[16][17];
    int x = threadIdx.x, y = threadIdx.y;
    int column = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
    tile[y][x] = in[row * n + column]; //~ A
#ifdef FIXED
    __syncthreads();
#endif
    out[(blockIdx.x * 16 + y) * n + blockIdx.y * 16 + x] = tile[x][y]; //~ B
}
//~ RACE[racy] write-read shared: A B

int main() {
    Buffer<int> in(32 * 32), out(32 * 32);
    iota(in);
    transpose<<<dim3(2, 2), dim3(16, 16)>>>(in.device, out.device, 32);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 32 * 32; i++) right &= out[i] == (i % 32) * 32 + i / 32;
    return finish(right);
}
