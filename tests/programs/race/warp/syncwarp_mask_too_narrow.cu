//@ revisions: racy fixed
//@[racy] findings: mask
// The mask leaves out the lanes whose values are read.
#include "check.h"

__global__ void exchange(int* data) {
    __shared__ int tile[32];
    int t = threadIdx.x;
    tile[t] = data[t]; //~ A
#ifdef FIXED
    __syncwarp();
#else
    __syncwarp(t < 16 ? 0x0000ffff : 0xffff0000);
#endif
    data[t] = tile[(t + 16) % 32]; //~ B
}
//~ RACE[racy] write-read shared warp: A B

int main() {
    Buffer<int> data(32);
    iota(data);
    exchange<<<1, 32>>>(data.device);
    SYNC();
    data.download();
    bool right = true;
    for (int i = 0; i < 32; i++) right &= data[i] == (i + 16) % 32;
    return finish(right);
}
