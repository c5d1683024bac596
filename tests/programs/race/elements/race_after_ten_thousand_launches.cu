//@ revisions: racy fixed
//@ opt: O2
//@ seeds: 0
//@[racy] findings: missing-atomic
// 10,000 launches in order on the same words, and one more whose blocks overlap.
#include "check.h"

__global__ void shift(int* data, int offset) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x + offset) % 64;
    data[i] += 1;
}

__global__ void overlap(int* data) {
#ifdef FIXED
    atomicAdd(&data[threadIdx.x], 1);
#else
    data[threadIdx.x] += 1; //~ A
#endif
}
//~ RACE[racy] write-read|write-write|read-write global grid: A A

int main() {
    Buffer<int> data(64);
    for (int i = 0; i < 10000; i++) shift<<<2, 32>>>(data.device, i);
    overlap<<<2, 32>>>(data.device);
    SYNC();
    data.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= data[i] == 10000 + (i < 32 ? 2 : 0);
    return finish(right);
}
