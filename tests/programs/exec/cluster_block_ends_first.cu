//@ compile-flags: --cuda-gpu-arch=sm_90
// A known gap: a block reads the shared memory of another one that has ended, which is an error
// on a device. Here the memory stays as long as the cluster, and nothing is said.
#include <cooperative_groups.h>
#include "check.h"
namespace cg = cooperative_groups;

__global__ void __cluster_dims__(2, 1, 1) late(int* out) {
    __shared__ int value;
    auto cluster = cg::this_cluster();
    if (threadIdx.x == 0) value = 10 + cluster.block_rank();
    cluster.sync();
    if (cluster.block_rank() == 1) return;
    // The other block does not wait for this one.
    out[blockIdx.x * 32 + threadIdx.x] = *cluster.map_shared_rank(&value, 1);
}

int main() {
    Buffer<int> out(4 * 32);
    late<<<4, 32>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 32; i++) right &= out[i] == 11 && out[64 + i] == 11;
    return finish(right);
}
