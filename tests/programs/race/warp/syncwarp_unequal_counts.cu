//@ revisions: racy fixed
//@[racy] findings: mask
// One half of the warp synchronises twice among itself: that counts for nothing
// against the other half, although both halves have synchronised.
#include "check.h"

__global__ void exchange(int* data) {
    __shared__ int tile[32];
    int t = threadIdx.x;
    if (t < 16) {
        __syncwarp(0x0000ffff);
        tile[t] = data[t]; //~ A
        __syncwarp(0x0000ffff);
    } else {
        __syncwarp(0xffff0000);
    }
#ifdef FIXED
    __syncwarp();
#endif
    if (t >= 16) data[t] += tile[t - 16]; //~ B
}
//~ RACE[racy] write-read shared warp: A B

int main() {
    Buffer<int> data(32);
    iota(data);
    exchange<<<1, 32>>>(data.device);
    SYNC();
    data.download();
    bool right = true;
    for (int i = 16; i < 32; i++) right &= data[i] == i + i - 16;
    return finish(right);
}
