//@ revisions: racy fixed
//@[racy] known-miss: the two meet, as barrier 0 of PTX does wherever it stands
// Two warps wait at two different `__syncthreads`. CUDA's guide allows one in a
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
