// A variable that the compiler is told to keep, in shared memory.
#include "check.h"

__shared__ __attribute__((used)) int kept[64];

__global__ void reversed(int* p) {
    kept[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    p[threadIdx.x] = kept[63 - threadIdx.x];
}

int main() {
    Buffer<int> p(64);
    for (int i = 0; i < 64; i++) p[i] = i;
    p.upload();
    reversed<<<1, 64>>>(p.device);
    SYNC();
    p.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= p[i] == 63 - i;
    return finish(right);
}
