//@ revisions: relaxed narrow fixed
//@ compile-flags: --cuda-gpu-arch=sm_90
//@[narrow] findings: missing-fence
//@[relaxed] findings: missing-fence
// One block hands data to another of its cluster through a flag in the other's shared memory, by
// inline PTX: with release and acquire at cluster scope; with relaxed accesses; with fences that
// reach the own block only.
#include <cooperative_groups.h>
#include "check.h"
namespace cg = cooperative_groups;

__device__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ unsigned of_rank(unsigned address, unsigned rank) {
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
    return there;
}

__global__ void __cluster_dims__(2, 1, 1) message(int* global, int* out) {
    __shared__ int data, flag;
    auto cluster = cg::this_cluster();
    if (threadIdx.x == 0) flag = 0;
    cluster.sync();
    if (threadIdx.x == 0 && cluster.block_rank() == 0) {
        asm volatile("st.shared::cluster.s32 [%0], 17;" :: "r"(of_rank(shared_address(&data), 1)) : "memory"); //~ A
        global[blockIdx.x / 2] = 25; //~ G
        unsigned there = of_rank(shared_address(&flag), 1);
#if defined FIXED
        asm volatile("st.release.cluster.shared::cluster.s32 [%0], 1;" :: "r"(there) : "memory");
#else
#ifdef NARROW
        asm volatile("fence.acq_rel.cta;" ::: "memory");
#endif
        asm volatile("st.relaxed.cluster.shared::cluster.s32 [%0], 1;" :: "r"(there) : "memory");
#endif
    }
    if (threadIdx.x == 0 && cluster.block_rank() == 1) {
        int seen = 0;
        while (!seen) {
#if defined FIXED
            asm volatile("ld.acquire.cluster.shared::cta.s32 %0, [%1];" : "=r"(seen) : "r"(shared_address(&flag)) : "memory");
#else
            asm volatile("ld.relaxed.cluster.shared::cta.s32 %0, [%1];" : "=r"(seen) : "r"(shared_address(&flag)) : "memory");
#endif
        }
#ifdef NARROW
        asm volatile("fence.acq_rel.cta;" ::: "memory");
#endif
        int sum = data; //~ B
        sum += global[blockIdx.x / 2]; //~ H
        out[blockIdx.x / 2] = sum;
    }
    cluster.sync();
}
//~ RACE[relaxed] write-read shared cluster: A B
//~ RACE[relaxed] write-read global cluster: G H
//~ RACE[narrow] write-read shared cluster: A B
//~ RACE[narrow] write-read global cluster: G H

int main() {
    Buffer<int> global(3), out(3);
    message<<<6, 32>>>(global.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 42 && out[1] == 42 && out[2] == 42);
}
