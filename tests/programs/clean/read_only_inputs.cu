// Reads by everybody of global, constant and `__ldg` memory are no race.
#include "check.h"

__constant__ int weights[4] = {1, 2, 3, 4};

__global__ void convolve(const int* __restrict__ in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
    for (int k = 0; k < 4; k++) sum += weights[k] * (k % 2 ? in[(i + k) % n] : __ldg(&in[(i + k) % n]));
    out[i] = sum;
}

int main() {
    Buffer<int> in(128), out(128);
    iota(in);
    convolve<<<4, 32>>>(in.device, out.device, 128);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 128; i++) {
        int sum = 0;
        for (int k = 0; k < 4; k++) sum += (k + 1) * ((i + k) % 128);
        right &= out[i] == sum;
    }
    return finish(right);
}
