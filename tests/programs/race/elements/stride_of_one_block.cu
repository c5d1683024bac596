//@ revisions: racy rounds fixed
//@[racy] findings: missing-atomic
//@[rounds] findings: loop-back-edge
// A loop over an array strides by one block's threads, so all blocks come to each element. Between the rounds of one
// block, a barrier is what lacks.
#include "check.h"

__global__ void add(int* y, const int* x, int n) {
#ifdef ROUNDS
    if (blockIdx.x > 0) return;
    for (int round = 0; round < 4; round++) {
        int i = (threadIdx.x + 32 * round) % n;
        y[i] = x[threadIdx.x] + y[i]; //~ A
    }
#else
#ifdef FIXED
    int stride = blockDim.x * gridDim.x;
#else
    int stride = blockDim.x;
#endif
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        y[i] = x[i] + y[i]; //~ B
    }
#endif
}
//~ RACE[racy] write-read|read-write|write-write global grid: B B
//~ RACE[rounds] write-read|read-write|write-write global block: A A

int main() {
    Buffer<int> x(256), y(256);
    for (int i = 0; i < 256; i++) x[i] = i + 1;
    x.upload();
    add<<<2, 64>>>(y.device, x.device, 256);
    SYNC();
    y.download();
    bool right = true;
#ifndef ROUNDS
    for (int i = 0; i < 256; i++) right &= y[i] == i + 1;
#endif
    return finish(right);
}
