//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// The last rounds of a reduction stay in one warp, which is no order by itself.
#include "check.h"

__global__ void reduce_warp(const int* in, int* out) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = in[t];
    tile[t + 32] = in[t + 32];
    __syncthreads();
    for (int s = 32; s > 0; s /= 2) {
        int other = tile[t + s]; //~ A
#ifdef FIXED
        __syncwarp();
#endif
        if (t < s) tile[t] += other; //~ B
#ifdef FIXED
        __syncwarp();
#endif
    }
    if (t == 0) *out = tile[0];
}
//~ RACE[racy] write-read shared warp: B A

int main() {
    Buffer<int> in(64), out(1);
    iota(in);
    reduce_warp<<<1, 32>>>(in.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 63 * 32);
}
