// A new allocation at an old address has no history.
#include "check.h"

__global__ void fill(int* data, int value) { data[threadIdx.x] = value + threadIdx.x; }
__global__ void fill_reversed(int* data, int value) { data[63 - threadIdx.x] = value + threadIdx.x; }

int main() {
    bool right = true;
    for (int k = 0; k < 10; k++) {
        Buffer<int> data(64);
        if (k % 2)
            fill<<<1, 64>>>(data.device, k);
        else
            fill_reversed<<<1, 64>>>(data.device, k);
        SYNC();
        data.download();
        for (int i = 0; i < 64; i++) right &= data[i] == k + (k % 2 ? i : 63 - i);
    }
    return finish(right);
}
