//@ revisions: racy fixed
//@[racy] findings: missing-atomic
// Bins in global memory, counted by plain increments from several blocks.
#include "check.h"

__global__ void histogram(const int* in, int* bins) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FIXED
    atomicAdd(&bins[in[i]], 1);
#else
    bins[in[i]]++; //~ A
#endif
}
//~ RACE[racy] write-read|write-write global grid: A A

int main() {
    // Values repeat from block to block, not within one.
    Buffer<int> in(128), bins(32);
    for (int i = 0; i < 128; i++) in[i] = i % 32;
    in.upload();
    histogram<<<4, 32>>>(in.device, bins.device);
    SYNC();
    bins.download();
    bool right = true;
    for (int i = 0; i < 32; i++) right &= bins[i] == 4;
    return finish(right);
}
