//@ revisions: racy fixed
//@[racy] findings: divergence
// One warp waits at the block's barrier, the other at a named one for both.
#include "check.h"

__global__ void wait(int* out) {
    if (threadIdx.x < 32)
        asm volatile("bar.sync 0;" ::: "memory"); //~ A
    else
#ifdef FIXED
        asm volatile("bar.sync 0;" ::: "memory"); // PTX lets one barrier stand in two places.
#else
        asm volatile("bar.sync 1, 64;" ::: "memory"); //~ B
#endif
    out[threadIdx.x] = 1;
}
//~ DIVERGENCE[racy]: A B

int main() {
    int* out;
    CUDA(cudaMalloc(&out, 64 * sizeof(int)));
    wait<<<1, 64>>>(out);
    cudaError_t error = cudaDeviceSynchronize();
    return finish(error == cudaSuccess);
}
