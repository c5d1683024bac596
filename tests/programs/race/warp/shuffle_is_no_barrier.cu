//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// A shuffle makes lanes meet, but orders no memory access.
#include "check.h"

__global__ void exchange(int* data) {
    __shared__ int tile[32];
    int t = threadIdx.x;
    tile[t] = data[t]; //~ A
    int above = __shfl_down_sync(0xffffffff, t, 1);
#ifdef FIXED
    __syncwarp();
#endif
    data[t] = tile[above % 32]; //~ B
}
//~ RACE[racy] write-read shared warp: A B

int main() {
    Buffer<int> data(32);
    iota(data);
    exchange<<<1, 32>>>(data.device);
    SYNC();
    data.download();
    bool right = data[31] == 31;
    for (int i = 0; i < 31; i++) right &= data[i] == i + 1;
    return finish(right);
}
