//@ seeds: 0
// Values move around the block, two barriers per step.
#include "check.h"

__global__ void rotate(int* data, int steps) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = data[t];
    __syncthreads();
    for (int k = 0; k < steps; k++) {
        int value = tile[(t + 1) % 64];
        __syncthreads();
        tile[t] = value;
        __syncthreads();
    }
    data[t] = tile[t];
}

int main() {
    Buffer<int> data(64);
    iota(data);
    rotate<<<1, 64>>>(data.device, 150);
    SYNC();
    data.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= data[i] == (i + 150) % 64;
    return finish(right);
}
