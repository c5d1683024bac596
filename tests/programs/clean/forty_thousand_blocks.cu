//@ opt: O2
//@ seeds: 0
// More blocks than 15 bits can count, each with its own words, then again shifted.
#include "check.h"

__global__ void write_own(int* data, int shift) {
    unsigned b = (blockIdx.x + shift) % gridDim.x;
    data[b] += blockIdx.x;
}

int main() {
    const int n = 40000;
    Buffer<int> data(n);
    write_own<<<n, 1>>>(data.device, 0);
    write_own<<<n, 1>>>(data.device, 12345);
    SYNC();
    data.download();
    bool right = true;
    for (int i = 0; i < n; i++) right &= data[i] == i + (i - 12345 + n) % n;
    return finish(right);
}
