//@ revisions: racy fixed
//@ compile-flags: --cuda-gpu-arch=sm_90
//@[racy] findings: missing-barrier
// A sum over distributed shared memory: each block sums its part, and the first block of the
// cluster sums what it reads from the others. The racy form lacks the barrier between.
#include <cooperative_groups.h>
#include "check.h"
namespace cg = cooperative_groups;

template <int BLOCKS>
__global__ void __cluster_dims__(BLOCKS) sum(const int* in, int* out) {
    extern __shared__ int part[];
    __shared__ int total;
    auto cluster = cg::this_cluster();
    int t = threadIdx.x, n = blockDim.x;
    part[t] = in[blockIdx.x * n + t];
    __syncthreads();
    for (int s = n / 2; s > 0; s /= 2) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0) total = part[0]; //~ W
#ifdef FIXED
    cluster.sync();
#endif
    if (cluster.block_rank() == 0 && t < BLOCKS) {
        int* other = cluster.map_shared_rank(&total, t);
        atomicAdd(&out[blockIdx.x / BLOCKS], *other); //~ R
    }
    cluster.sync();
}
//~ RACE[racy] write-read shared cluster: W R

int main() {
    const int blocks = 8, threads = 64, n = blocks * threads;
    Buffer<int> in(n), out(2);
    int want[2] = {};
    for (int i = 0; i < n; i++) want[i / (n / 2)] += in[i] = i * 7 % 31;
    in.upload();
    sum<4><<<blocks, threads, threads * sizeof(int)>>>(in.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == want[0] && out[1] == want[1]);
}
