// The halves of a warp sync among themselves a different number of times, then all
// together: counts do not matter, only who met whom.
#include "check.h"

__global__ void exchange(int* data) {
    __shared__ int tile[32];
    int t = threadIdx.x, base = t / 16 * 16;
    unsigned half = t < 16 ? 0x0000ffff : 0xffff0000;
    for (int k = 0; k < (t < 16 ? 5 : 2); k++) {
        tile[t] = data[t];
        __syncwarp(half);
        data[t] = tile[base + (t + 1) % 16];
        __syncwarp(half);
    }
    tile[t] = data[t];
    __syncwarp();
    data[t] = tile[t ^ 16];
}

int main() {
    Buffer<int> data(32);
    iota(data);
    exchange<<<1, 32>>>(data.device);
    SYNC();
    data.download();
    bool right = true;
    for (int i = 0; i < 16; i++) {
        right &= data[16 + i] == (i + 5) % 16;
        right &= data[i] == 16 + (i + 2) % 16;
    }
    return finish(right);
}
