//@ revisions: racy narrow fixed
//@ compile-flags: --cuda-gpu-arch=sm_90
//@[narrow] findings: narrow-scope
//@[racy] findings: missing-atomic
// A histogram whose bins are spread over the shared memory of a cluster: each block holds some, and
// all add to them. One racy form adds without atomics, the other with atomics of the block, which
// do not reach the other blocks.
#include <cooperative_groups.h>
#include "check.h"
namespace cg = cooperative_groups;

__global__ void histogram(int* total, int held, const int* keys, int n) {
    extern __shared__ int own[];
    auto cluster = cg::this_cluster();
    int t = threadIdx.x, step = blockDim.x;
    for (int b = t; b < held; b += step) own[b] = 0;
    cluster.sync();
    for (int i = blockIdx.x * step + t; i < n; i += gridDim.x * step) {
        int* bin = cluster.map_shared_rank(own, keys[i] / held) + keys[i] % held;
#if defined FIXED
        atomicAdd(bin, 1);
#elif defined NARROW
        atomicAdd_block(bin, 1); //~ A
#else
        *bin += 1; //~ B
#endif
    }
    cluster.sync();
    for (int b = t; b < held; b += step) atomicAdd(&total[cluster.block_rank() * held + b], own[b]);
}
//~ RACE[narrow] atomic-atomic shared cluster: A A
//~ RACE[racy] write-read|write-write shared: B B

int main() {
    const int bins = 16, blocks = 2, threads = 32, n = 1000;
    Buffer<int> total(bins), keys(n);
    int want[bins] = {};
    for (int i = 0; i < n; i++) want[keys[i] = i * i % 41 % bins]++;
    keys.upload();
    cudaLaunchConfig_t config = {};
    config.gridDim = 2 * blocks;
    config.blockDim = threads;
    config.dynamicSmemBytes = bins / blocks * sizeof(int);
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {blocks, 1, 1};
    config.attrs = &attribute;
    config.numAttrs = 1;
    CUDA(cudaLaunchKernelEx(&config, histogram, total.device, bins / blocks, (const int*)keys.device, n));
    SYNC();
    total.download();
    bool right = true;
    for (int b = 0; b < bins; b++) right &= total[b] == want[b];
    return finish(right);
}
