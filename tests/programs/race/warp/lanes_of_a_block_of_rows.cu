//@ revisions: racy fixed
//@[racy] findings: mask
// Quads by `threadIdx.x`, in a block whose rows have eight threads: only in the first row of a warp is it
// the lane. The others name lanes of the first row, not their own.
#include "check.h"

__global__ void quads(const int* in, int* out) {
    __shared__ int s[64];
    int x = threadIdx.x, t = threadIdx.y * 8 + x;
#ifdef FIXED
    int lane = t;
#else
    int lane = x;
#endif
    s[t] = in[t]; //~ A
    if (threadIdx.y % 4 == 0 || lane != x) __syncwarp(0xfu << (lane & 28));
    out[t] = s[t ^ 3]; //~ B
}
//~ RACE[racy] write-read shared warp: A B

int main() {
    Buffer<int> in(64), out(64);
    iota(in);
    quads<<<1, dim3(8, 8)>>>(in.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == (i ^ 3);
    return finish(right);
}
