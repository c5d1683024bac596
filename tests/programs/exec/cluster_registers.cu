//@ compile-flags: --cuda-gpu-arch=sm_90
// What threads know of their cluster, by cooperative groups and by the registers, in launches
// with a cluster, with one block a cluster, and with none.
#include <cooperative_groups.h>
#include "check.h"
namespace cg = cooperative_groups;

struct Facts {
    unsigned rank, blocks, thread, threads, mapped;
    dim3 index, dims;
    unsigned id[3], count[3], block[3], size[3], own_rank, ranks, is_explicit;
};

#define READ(to, name) asm volatile("mov.u32 %0, %%" name ";" : "=r"(to))

__global__ void look(Facts* out) {
    __shared__ int somewhere;
    auto c = cg::this_cluster();
    int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    Facts f;
    f.rank = c.block_rank(), f.blocks = c.num_blocks();
    f.thread = c.thread_rank(), f.threads = c.num_threads();
    f.index = c.block_index(), f.dims = c.dim_blocks();
    f.mapped = c.query_shared_rank(c.map_shared_rank(&somewhere, c.num_blocks() - 1));
    READ(f.id[0], "clusterid.x");
    READ(f.id[1], "clusterid.y");
    READ(f.id[2], "clusterid.z");
    READ(f.count[0], "nclusterid.x");
    READ(f.count[1], "nclusterid.y");
    READ(f.count[2], "nclusterid.z");
    READ(f.block[0], "cluster_ctaid.x");
    READ(f.block[1], "cluster_ctaid.y");
    READ(f.block[2], "cluster_ctaid.z");
    READ(f.size[0], "cluster_nctaid.x");
    READ(f.size[1], "cluster_nctaid.y");
    READ(f.size[2], "cluster_nctaid.z");
    READ(f.own_rank, "cluster_ctarank");
    READ(f.ranks, "cluster_nctarank");
    asm volatile("{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p; }" : "=r"(f.is_explicit));
    if (threadIdx.x == 5) out[block] = f;
}

bool all_right = true;

void launch(dim3 grid, dim3 cluster, bool with) {
    unsigned n = grid.x * grid.y * grid.z, threads = 8;
    Buffer<Facts> out(n);
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = threads;
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {cluster.x, cluster.y, cluster.z};
    config.attrs = &attribute;
    config.numAttrs = with;
    CUDA(cudaLaunchKernelEx(&config, look, out.device));
    SYNC();
    out.download();
    unsigned size[3] = {cluster.x, cluster.y, cluster.z}, dims[3] = {grid.x, grid.y, grid.z};
    unsigned blocks = cluster.x * cluster.y * cluster.z;
    for (unsigned b = 0; b < n; b++) {
        Facts f = out[b];
        unsigned at[3] = {b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y};
        bool right = true;
        for (int i = 0; i < 3; i++) {
            right &= f.id[i] == at[i] / size[i] && f.count[i] == dims[i] / size[i];
            right &= f.block[i] == at[i] % size[i] && f.size[i] == size[i];
        }
        unsigned rank = at[0] % size[0] + size[0] * (at[1] % size[1] + size[1] * (at[2] % size[2]));
        right &= f.rank == rank && f.own_rank == rank && f.blocks == blocks && f.ranks == blocks;
        right &= f.thread == rank * threads + 5 && f.threads == blocks * threads;
        right &= f.index.x == at[0] % size[0] && f.index.y == at[1] % size[1] && f.index.z == at[2] % size[2];
        right &= f.dims.x == size[0] && f.dims.y == size[1] && f.dims.z == size[2];
        right &= f.mapped == blocks - 1 && f.is_explicit == with;
        if (!right) printf("block %u of %u\n", b, n), all_right = false;
    }
}

int main() {
    launch(dim3(8), dim3(4), true);
    launch(dim3(4, 6, 2), dim3(2, 2, 2), true);
    launch(dim3(3, 2), dim3(1), true);
    launch(dim3(3, 2), dim3(1), false);
    return finish(all_right);
}
