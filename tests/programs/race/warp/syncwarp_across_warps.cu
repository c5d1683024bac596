//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// `__syncwarp` orders nothing between two warps.
#include "check.h"

__global__ void exchange(int* data) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = data[t]; //~ A
#ifdef FIXED
    __syncthreads();
#else
    __syncwarp();
#endif
    data[t] = tile[(t + 32) % 64]; //~ B
}
//~ RACE[racy] write-read shared block: A B

int main() {
    Buffer<int> data(64);
    iota(data);
    exchange<<<1, 64>>>(data.device);
    SYNC();
    data.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= data[i] == (i + 32) % 64;
    return finish(right);
}
