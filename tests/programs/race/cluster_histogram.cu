//@ revisions: racy narrow fixed
//@ compile-flags: --cuda-gpu-arch=sm_90
// A histogram whose bins are spread over the shared memory of a cluster (CUDA C++ Programming
// Guide, "Distributed Shared Memory"). One racy form adds without atomics, the other with atomics
// of the block, which do not reach the other blocks.
#include <cooperative_groups.h>
#include "check.h"
namespace cg = cooperative_groups;

__global__ void histogram(int* bins, int nbins, int bins_per_block, const int* input, int n) {
    extern __shared__ int smem[];
    int tid = cg::this_grid().thread_rank();
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank();
    int size = cluster.dim_blocks().x;
    for (int i = threadIdx.x; i < bins_per_block; i += blockDim.x) smem[i] = 0;
    cluster.sync(); // All bins are zero, and all blocks have started.
    for (int i = tid; i < n; i += blockDim.x * gridDim.x) {
        int bin = min(max(input[i], 0), nbins - 1);
        int* there = cluster.map_shared_rank(smem, bin / bins_per_block);
#if defined FIXED
        atomicAdd(there + bin % bins_per_block, 1);
#elif defined NARROW
        atomicAdd_block(there + bin % bins_per_block, 1); //~ A
#else
        there[bin % bins_per_block]++; //~ B
#endif
    }
    cluster.sync(); // All have added, before the bins go.
    int* of_block = bins + cluster.block_rank() * bins_per_block;
    for (int i = threadIdx.x; i < bins_per_block; i += blockDim.x) atomicAdd(&of_block[i], smem[i]);
}
//~ RACE[narrow] atomic-atomic shared cluster: A A
//~ RACE[racy] write-read|write-write shared: B B

int main() {
    const int nbins = 16, cluster = 2, threads = 32, n = 1000;
    Buffer<int> bins(nbins), input(n);
    int want[nbins] = {};
    for (int i = 0; i < n; i++) want[input[i] = i * i % 41 % nbins]++;
    input.upload();
    cudaLaunchConfig_t config = {};
    config.gridDim = 4;
    config.blockDim = threads;
    config.dynamicSmemBytes = nbins / cluster * sizeof(int);
    cudaLaunchAttribute attribute[1];
    attribute[0].id = cudaLaunchAttributeClusterDimension;
    attribute[0].val.clusterDim.x = cluster;
    attribute[0].val.clusterDim.y = 1;
    attribute[0].val.clusterDim.z = 1;
    config.numAttrs = 1;
    config.attrs = attribute;
    CUDA(cudaLaunchKernelEx(&config, histogram, bins.device, nbins, nbins / cluster, (const int*)input.device, n));
    SYNC();
    bins.download();
    bool right = true;
    for (int i = 0; i < nbins; i++) right &= bins[i] == want[i];
#ifndef FIXED
    right = true;
#endif
    return finish(right);
}
