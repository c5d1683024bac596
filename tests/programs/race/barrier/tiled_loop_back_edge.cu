//@ revisions: racy fixed
//@[racy] findings: loop-back-edge
// A tiled loop: the next round overwrites the tile that slow threads still read.
#include "check.h"

__global__ void sum_tiles(const int* in, int* out, int rounds) {
    __shared__ int tile[64];
    int t = threadIdx.x, sum = 0;
    for (int k = 0; k < rounds; k++) {
        tile[t] = in[k * 64 + t]; //~ A
        __syncthreads();
        for (int i = 0; i < 64; i++) sum += tile[i]; //~ B
#ifdef FIXED
        __syncthreads();
#endif
    }
    out[t] = sum;
}
//~ RACE[racy] read-write shared: B A

int main() {
    Buffer<int> in(256), out(64);
    iota(in);
    sum_tiles<<<1, 64>>>(in.device, out.device, 4);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == 255 * 128;
    return finish(right);
}
