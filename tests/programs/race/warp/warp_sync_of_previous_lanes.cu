//@ revisions: racy fixed
//@[racy] findings: mask
// A warp reduction syncs, after each step, only the lanes that have just added. Those
// of the next step read what lanes wrote that were in that mask, save in the last
// step, where one lane syncs with itself while its partner still adds.
#include "check.h"

__global__ void reduce(const int* in, int* out) {
    __shared__ int tile[32];
    int t = threadIdx.x;
    tile[t] = in[t];
    __syncwarp();
    for (int s = 16; s > 0; s /= 2) {
#ifdef FIXED
        if (t < s) tile[t] += tile[t + s];
        __syncwarp();
#else
        if (t < s) {
            tile[t] += tile[t + s]; //~ A
            __syncwarp((1u << (s > 1 ? s / 2 : 1)) - 1 | 1u << t);
        }
#endif
    }
    if (t == 0) *out = tile[0];
}
//~ RACE[racy] write-read shared warp: A A

int main() {
    Buffer<int> in(32), out(1);
    iota(in);
    reduce<<<1, 32>>>(in.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 31 * 16);
}
