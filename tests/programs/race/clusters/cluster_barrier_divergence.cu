//@ revisions: racy fixed
//@ compile-flags: --cuda-gpu-arch=sm_90
//@[racy] findings: divergence divergence
// All threads of a cluster have to come to its barrier. In the racy form the second block has a
// warp that waits for its own block first, which nobody else of the block does.
#include <cooperative_groups.h>
#include "check.h"
namespace cg = cooperative_groups;

__global__ void __cluster_dims__(2, 1, 1) wait(int* out) {
    auto cluster = cg::this_cluster();
#ifndef FIXED
    if (cluster.block_rank() == 1 && threadIdx.x >= 32) __syncthreads(); //~ B
#endif
    cluster.barrier_arrive();
    cluster.barrier_wait(); //~ C
    out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}
//~ DIVERGENCE[racy]: C
//~ DIVERGENCE[racy]: B C

int main() {
    int* out;
    CUDA(cudaMalloc(&out, 128 * sizeof(int)));
    wait<<<2, 64>>>(out);
    cudaError_t error = cudaDeviceSynchronize();
    return finish(error == cudaSuccess);
}
