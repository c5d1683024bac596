//@ revisions: racy fixed
//@ compile-flags: --cuda-gpu-arch=sm_90
//@[racy] findings: missing-barrier
// Blocks hand a value to the next block between the two halves of the cluster's barrier. What a
// thread does between its arrival and its wait is in no phase: the racy form writes there.
#include <cooperative_groups.h>
#include "check.h"
namespace cg = cooperative_groups;

__global__ void hand_over(int* out) {
    __shared__ int box[32];
    auto cluster = cg::this_cluster();
    int t = threadIdx.x, rank = cluster.block_rank();
#ifdef FIXED
    box[t] = 100 * rank + t;
    cluster.barrier_arrive();
#else
    cluster.barrier_arrive();
    box[t] = 100 * rank + t; //~ W
#endif
    int own = 3 * t; // Work of its own.
    cluster.barrier_wait();
    int* next = cluster.map_shared_rank(box, (rank + 1) % cluster.num_blocks());
    out[blockIdx.x * blockDim.x + t] = next[t] + own; //~ R
    cluster.sync();
}
//~ RACE[racy] write-read shared cluster: W R

int main() {
    const int blocks = 4, cluster = 2;
    Buffer<int> out(blocks * 32);
    cudaLaunchConfig_t config = {};
    config.gridDim = blocks;
    config.blockDim = 32;
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {cluster, 1, 1};
    config.attrs = &attribute;
    config.numAttrs = 1;
    CUDA(cudaLaunchKernelEx(&config, hand_over, out.device));
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < blocks * 32; i++) right &= out[i] == 100 * ((i / 32 + 1) % cluster) + 4 * (i % 32);
    return finish(right);
}
