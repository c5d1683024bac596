//@ revisions: racy narrow fixed
//@ compile-flags: --cuda-gpu-arch=sm_90
//@[narrow] findings: narrow-scope
//@[racy] findings: missing-atomic missing-barrier
// Blocks count in the first one's shared memory, claim it, and leave each other a value, all by inline PTX at 32-bit
// addresses of the cluster, their own memory's too. The racy form waits for its own block alone; the narrow one counts by atomics of
// the block.
#include <cooperative_groups.h>
#include "check.h"
namespace cg = cooperative_groups;

#ifdef NARROW
#define SCOPE "cta"
#else
#define SCOPE "cluster"
#endif
// A block that counts has observed what the other has counted before.
#ifdef RACY
constexpr int first_to_count = 1;
#else
constexpr int first_to_count = 0;
#endif

__device__ unsigned of_rank(const void* p, unsigned rank) {
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"((unsigned)__cvta_generic_to_shared(p)), "r"(rank));
    return there;
}

__device__ int load(unsigned at) {
    int value;
    asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(value) : "r"(at) : "memory"); //~ R
    return value;
}

__global__ void __cluster_dims__(2, 1, 1) gather(int* out) {
    __shared__ int count, owner, box;
    auto cluster = cg::this_cluster();
    int t = threadIdx.x, rank = cluster.block_rank();
    if (t == 0) count = owner = 0;
    cluster.sync();
    if (rank >= first_to_count) asm volatile("red.relaxed." SCOPE ".shared::cluster.add.s32 [%0], 1;" ::"r"(of_rank(&count, 0)) : "memory"); //~ A
    if (t == 0) {
        int before;
        asm volatile("atom.cas.relaxed.cluster.shared::cluster.b32 %0, [%1], %2, %3;"
                     : "=r"(before) : "r"(of_rank(&owner, 0)), "r"(0), "r"(rank + 1) : "memory");
        asm volatile("st.shared::cluster.s32 [%0], %1;" ::"r"(of_rank(&box, 1 - rank)), "r"(before == 0 ? 1 : 2) : "memory"); //~ W
    }
#ifdef RACY
    __syncthreads();
#else
    cluster.sync();
#endif
    if (t == 0) out[blockIdx.x] = 100 * load(of_rank(&count, 0)) + load(of_rank(&box, rank));
    cluster.sync();
}
//~ RACE[racy] write-read shared cluster: W R
//~ RACE[racy] read-atomic|atomic-read shared cluster: R A
//~ RACE[narrow] atomic-atomic shared cluster: A A

int main() {
    const int blocks = 4;
    Buffer<int> out(blocks);
    gather<<<blocks, 32>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    // The boxes say who came first: one of each two.
    for (int i = 0; i < blocks; i += 2) right &= out[i] / 100 == 64 && out[i + 1] / 100 == 64 && out[i] % 100 + out[i + 1] % 100 == 3;
    return finish(right);
}
