//@ revisions: racy fixed
//@[racy] findings: divergence
// Two warps wait at two different `__syncthreads`. They meet there, but CUDA allows one in a
// branch only where the whole block takes it.
#include "check.h"

__global__ void wait(int* out) {
    int t = threadIdx.x;
#ifdef FIXED
    __syncthreads();
#else
    if (t < 32) {
        out[t] = 1;
        __syncthreads(); //~ A
    } else {
        out[t] = 2;
        __syncthreads(); //~ B
    }
#endif
    out[t] = 3;
}
//~ DIVERGENCE[racy]: A B

int main() {
    Buffer<int> out(64);
    wait<<<1, 64>>>(out.device);
    cudaError_t error = cudaDeviceSynchronize();
    return finish(error == cudaSuccess);
}
