//@ opt: O2
//@ seeds: 0
// Neighbours exchange over 10,000 barriers.
#include "check.h"

__global__ void rotate(int* out, int rounds) {
    __shared__ int tile[64];
    int t = threadIdx.x, value = t;
    for (int k = 0; k < rounds; k++) {
        tile[t] = value;
        __syncthreads();
        value = tile[(t + 1) % 64];
        __syncthreads();
    }
    out[t] = value;
}

int main() {
    Buffer<int> out(64);
    rotate<<<1, 64>>>(out.device, 5000);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == (i + 5000) % 64;
    return finish(right);
}
