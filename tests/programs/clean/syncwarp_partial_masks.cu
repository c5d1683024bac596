// Each half of the warp works on its own half of the array and waits for itself.
#include "check.h"

__global__ void reverse_halves(int* data) {
    __shared__ int tile[32];
    int t = threadIdx.x, half = t / 16;
    unsigned mask = half ? 0xffff0000u : 0x0000ffffu;
    tile[t] = data[t];
    __syncwarp(mask);
    int value = tile[half * 16 + 15 - t % 16];
    __syncwarp(mask);
    tile[t] = 2 * value;
    __syncwarp();
    data[t] = tile[(t + 16) % 32];
}

int main() {
    Buffer<int> data(32);
    iota(data);
    reverse_halves<<<1, 32>>>(data.device);
    SYNC();
    data.download();
    bool right = true;
    for (int i = 0; i < 32; i++) {
        int j = (i + 16) % 32;
        right &= data[i] == 2 * (j / 16 * 16 + 15 - j % 16);
    }
    return finish(right);
}
