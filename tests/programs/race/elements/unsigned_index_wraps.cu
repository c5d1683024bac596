//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// Unsigned index arithmetic may wrap around for some threads of a block and come back: what each thread
// accesses is what the arithmetic of 32 bits gives.
#include "check.h"

__global__ void shift(unsigned back, int* data) {
    unsigned to = threadIdx.x - back;
#ifndef FIXED
    if (threadIdx.x >= back) data[to] = threadIdx.x; //~ A
#else
    if (threadIdx.x >= back) data[256 + to] = threadIdx.x;
#endif
    int seen = data[threadIdx.x]; //~ B
    __syncthreads();
    data[512 + threadIdx.x] = seen;
}
//~ RACE[racy] write-read global warp: A B

int main() {
    Buffer<int> data(768);
    shift<<<1, 256>>>(1, data.device);
    SYNC();
    data.download();
    bool right = true;
#ifdef FIXED
    for (int i = 0; i < 255; i++) right &= data[256 + i] == i + 1;
#endif
    return finish(right);
}
