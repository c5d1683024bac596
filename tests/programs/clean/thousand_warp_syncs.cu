//@ seeds: 0
// Values move around a warp, two warp syncs per step.
#include "check.h"

__global__ void rotate(int* data, int steps) {
    __shared__ int tile[32];
    int t = threadIdx.x;
    tile[t] = data[t];
    __syncwarp();
    for (int k = 0; k < steps; k++) {
        int value = tile[(t + 1) % 32];
        __syncwarp();
        tile[t] = value;
        __syncwarp();
    }
    data[t] = tile[t];
}

int main() {
    Buffer<int> data(32);
    iota(data);
    rotate<<<1, 32>>>(data.device, 550);
    SYNC();
    data.download();
    bool right = true;
    for (int i = 0; i < 32; i++) right &= data[i] == (i + 550) % 32;
    return finish(right);
}
