//@ revisions: racy fixed
//@[racy] findings: mask
// The first lane of each quad waits once more. Its sync is met by the others' first one, so it is ahead.
#include "check.h"

__global__ void exchange(const int* in, int* out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    unsigned quad = 0xfu << (t & 28);
#ifdef FIXED
    __syncwarp(quad);
#else
    if (t % 4 == 0) __syncwarp(quad);
#endif
    s[t] = in[t]; //~ A
    __syncwarp(quad);
    out[t] = s[t ^ 3]; //~ B
}
//~ RACE[racy] write-read shared warp: A B

int main() {
    Buffer<int> in(32), out(32);
    iota(in);
    exchange<<<1, 32>>>(in.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 32; i++) right &= out[i] == (i ^ 3);
    return finish(right);
}
