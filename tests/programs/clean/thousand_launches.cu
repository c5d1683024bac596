//@ opt: O2
//@ seeds: 0
// Launch after launch on the same words: ids of blocks and launches run on.
#include "check.h"

__global__ void rotate(int* data) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = data[t];
    __syncthreads();
    data[t] = tile[(t + 1) % 64];
}

int main() {
    Buffer<int> data(64);
    iota(data);
    for (int k = 0; k < 1000; k++) rotate<<<1, 64>>>(data.device);
    SYNC();
    data.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= data[i] == (i + 1000) % 64;
    return finish(right);
}
