//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// The loop skips its barrier in the last round, and what follows reuses the tile.
#include "check.h"

__global__ void sum_tiles(const int* in, int* out, int rounds) {
    __shared__ int tile[64];
    int t = threadIdx.x, sum = 0;
    for (int k = 0; k < rounds; k++) {
        tile[t] = in[k * 64 + t];
        __syncthreads();
        sum += tile[63 - t]; //~ A
#ifndef FIXED
        if (k + 1 < rounds)
#endif
            __syncthreads();
    }
    tile[t] = sum; //~ B
    __syncthreads();
    out[t] = tile[(t + 32) % 64];
}
//~ RACE[racy] read-write shared: A B

int main() {
    Buffer<int> in(192), out(64);
    iota(in);
    sum_tiles<<<1, 64>>>(in.device, out.device, 3);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == 3 * (63 - (i + 32) % 64) + 64 + 128;
    return finish(right);
}
