//@ revisions: racy fixed
//@[racy] findings: divergence
// A named barrier for 96 threads, of which only 64 ever come.
#include "check.h"

#ifdef FIXED
#define COUNT 64
#else
#define COUNT 96
#endif

__global__ void wait(int* out) {
    if (threadIdx.x < 64) asm volatile("barrier.cta.sync 3, %0;" ::"n"(COUNT) : "memory"); //~ A
    out[threadIdx.x] = 1;
}
//~ DIVERGENCE[racy]: A exited

int main() {
    int* out;
    CUDA(cudaMalloc(&out, 96 * sizeof(int)));
    wait<<<1, 96>>>(out);
    cudaError_t error = cudaDeviceSynchronize();
    return finish(error == cudaSuccess);
}
