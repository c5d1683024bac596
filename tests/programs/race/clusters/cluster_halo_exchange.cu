//@ revisions: racy fixed
//@ compile-flags: --cuda-gpu-arch=sm_90
//@[racy] findings: missing-barrier
// A stencil whose blocks keep their part in shared memory and read their neighbours' first
// and last elements there. The racy form waits for its own block only.
#include <cooperative_groups.h>
#include "check.h"
namespace cg = cooperative_groups;

const int PART = 64;

__global__ void __cluster_dims__(4, 1, 1) stencil(const int* in, int* out) {
    __shared__ int part[PART];
    cg::cluster_group cluster = cg::this_cluster();
    int t = threadIdx.x, rank = cluster.block_rank(), blocks = cluster.num_blocks();
    int i = blockIdx.x * PART + t;
    part[t] = in[i]; //~ A
#ifdef FIXED
    cluster.sync();
#else
    __syncthreads();
#endif
    int* left = cluster.map_shared_rank(part, (rank + blocks - 1) % blocks);
    int* right = cluster.map_shared_rank(part, (rank + 1) % blocks);
    int before = t > 0 ? part[t - 1] : left[PART - 1]; //~ L
    int after = t < PART - 1 ? part[t + 1] : right[0]; //~ R
    out[i] = before + part[t] + after;
    cluster.sync(); // Nobody ends while its neighbours still read.
}
//~ RACE[racy] write-read shared cluster: A L
//~ RACE[racy] write-read shared cluster: A R

int main() {
    const int blocks = 8, n = blocks * PART, ring = 4 * PART;
    Buffer<int> in(n), out(n);
    for (int i = 0; i < n; i++) in[i] = i * i % 101;
    in.upload();
    stencil<<<blocks, PART>>>(in.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < n; i++) {
        int base = i / ring * ring, at = i - base;
        right &= out[i] == in[base + (at + ring - 1) % ring] + in[i] + in[base + (at + 1) % ring];
    }
    return finish(right);
}
