//@ revisions: racy fixed
//@ compile-flags: --cuda-gpu-arch=sm_90
//@[racy] findings: missing-barrier
// Blocks of a cluster hand values on in global memory: the cluster's barrier orders that, the
// block's does not.
#include <cooperative_groups.h>
#include "check.h"
namespace cg = cooperative_groups;

__global__ void __cluster_dims__(2, 2, 1) turn(int* cells, int* out) {
    auto cluster = cg::this_cluster();
    int block = blockIdx.y * gridDim.x + blockIdx.x, t = threadIdx.x;
    cells[block * 32 + t] = block + t; //~ W
#ifdef FIXED
    cluster.sync();
#else
    cluster.barrier_arrive();
    __syncthreads();
#endif
    // The block on the diagonal of the cluster.
    int other = (blockIdx.y ^ 1) * gridDim.x + (blockIdx.x ^ 1);
    out[block * 32 + t] = cells[other * 32 + t]; //~ R
#ifndef FIXED
    cluster.barrier_wait();
#endif
}
//~ RACE[racy] write-read global cluster: W R

int main() {
    Buffer<int> cells(16 * 32), out(16 * 32);
    turn<<<dim3(4, 4), 32>>>(cells.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 4; x++)
            for (int t = 0; t < 32; t++) right &= out[(y * 4 + x) * 32 + t] == (y ^ 1) * 4 + (x ^ 1) + t;
    return finish(right);
}
