//@ revisions: racy fixed
//@[racy] findings: loop-back-edge
// `volatile` keeps the compiler from holding values back; it orders nothing.
#include "check.h"

__global__ void reduce_warp(const int* in, int* out) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = in[t];
    tile[t + 32] = in[t + 32];
    __syncthreads();
#ifdef FIXED
    for (int s = 32; s > 0; s /= 2) {
        int other = tile[t + s];
        __syncwarp();
        if (t < s) tile[t] += other;
        __syncwarp();
    }
#else
    volatile int* v = tile;
    for (int s = 16; s > 0; s /= 2)
        if (t < s) v[t] = v[t] + v[t + s]; //~ A
#endif
    if (t == 0) *out = tile[0];
}
//~ RACE[racy] write-read shared warp: A A

int main() {
    Buffer<int> in(64), out(1);
    iota(in);
    reduce_warp<<<1, 32>>>(in.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 63 * 32);
}
