//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// How often the block goes round stands in shared memory. All threads read it, and the first one changes it.
#include "check.h"

__global__ void rounds(int* out, int n) {
    __shared__ int left;
    int t = threadIdx.x, sum = 0;
    if (t == 0) left = n;
    __syncthreads();
    while (left > 0) { //~ A
#ifdef FIXED
        __syncthreads();
#endif
        sum += t;
        if (t == 0) left--; //~ B
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + t] = sum;
}
//~ RACE[racy] read-write|write-read shared: A B

int main() {
    Buffer<int> out(256);
    rounds<<<4, 64>>>(out.device, 5);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 256; i++) right &= out[i] == i % 64 * 5;
#ifndef FIXED
    right = true;
#endif
    return finish(right);
}
