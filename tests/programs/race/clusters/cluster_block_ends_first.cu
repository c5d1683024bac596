//@ revisions: racy observed fixed counted
//@ compile-flags: --cuda-gpu-arch=sm_90
//@[racy] stderr-contains: by the end of block (
//@[observed] findings: missing-barrier
//@[racy] findings: missing-barrier
// Blocks reach the shared memory of another one of their cluster, which may have ended meanwhile,
// and its memory with it: all threads of the cluster have to wait for each other once more. In the observed form it is
// an atomic that comes too late, in the counted one the block stays until it has seen all of them.
#include <cooperative_groups.h>
#include "check.h"
namespace cg = cooperative_groups;

__global__ void __cluster_dims__(2, 1, 1) late(int* out) {
    __shared__ int value, done;
    auto cluster = cg::this_cluster();
    if (threadIdx.x == 0) value = 10 + cluster.block_rank(), done = 0;
    cluster.sync();
    volatile int* of_other = cluster.map_shared_rank(&value, 1);
    int* count = cluster.map_shared_rank(&done, 1);
#if defined(COUNTED) || defined(OBSERVED)
    if (cluster.block_rank() == 1) {
#ifdef COUNTED
        while (threadIdx.x == 0 && atomicAdd(&done, 0) < 32) {}
#endif
        return;
    }
    out[blockIdx.x * 32 + threadIdx.x] = 11;
    atomicAdd(count, 1); //~ A
#else
    if (cluster.block_rank() == 0) out[blockIdx.x * 32 + threadIdx.x] = *of_other; //~ R
#ifdef FIXED
    cluster.sync();
#endif
#endif
}
//~ RACE[racy] write-read shared cluster: _ R
//~ RACE[observed] write-atomic shared cluster: _ A

int main() {
    Buffer<int> out(4 * 32);
    late<<<4, 32>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 32; i++) right &= out[i] == 11 && out[64 + i] == 11;
    return finish(right);
}
