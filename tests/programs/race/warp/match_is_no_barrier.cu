//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// `__match_any_sync` makes lanes meet, but orders no memory access.
#include "check.h"

__global__ void pair_up(int* data) {
    __shared__ int tile[32];
    int t = threadIdx.x;
    tile[t] = data[t]; //~ A
    unsigned peers = __match_any_sync(0xffffffff, t / 2);
#ifdef FIXED
    __syncwarp();
#endif
    int other = __ffs(peers & ~(1u << t)) - 1;
    data[t] = tile[other]; //~ B
}
//~ RACE[racy] write-read shared warp: A B

int main() {
    Buffer<int> data(32);
    iota(data);
    pair_up<<<1, 32>>>(data.device);
    SYNC();
    data.download();
    bool right = true;
    for (int i = 0; i < 32; i++) right &= data[i] == (i ^ 1);
    return finish(right);
}
