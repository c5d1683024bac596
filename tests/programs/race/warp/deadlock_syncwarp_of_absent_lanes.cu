//@ revisions: racy fixed
//@[racy] findings: divergence
// Half of a warp waits for the other half, which waits at the block's barrier.
#include "check.h"

__global__ void wait(int* out) {
    int t = threadIdx.x;
    if (t < 16)
#ifdef FIXED
        __syncwarp(0x0000ffff);
#else
        __syncwarp(0xffffffff); //~ A
#endif
    __syncthreads(); //~ B
    out[t] = 1;
}
//~ DIVERGENCE[racy] absent-lanes: A B

int main() {
    int* out;
    CUDA(cudaMalloc(&out, 32 * sizeof(int)));
    wait<<<1, 32>>>(out);
    cudaError_t error = cudaDeviceSynchronize();
    return finish(error == cudaSuccess);
}
