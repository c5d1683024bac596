//@ revisions: racy fixed
//@ compile-flags: --cuda-gpu-arch=sm_90
//@[racy] findings: early-release
// A block writes into the shared memory of its neighbour and arrives at an mbarrier there, at which
// the neighbour waits. The racy form arrives before it writes.
#include <cooperative_groups.h>
#include "check.h"
namespace cg = cooperative_groups;

__device__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__global__ void __cluster_dims__(2, 1, 1) push(int* out) {
    __shared__ int inbox[32];
    __shared__ unsigned long long full;
    auto cluster = cg::this_cluster();
    int t = threadIdx.x, rank = cluster.block_rank();
    if (t == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" :: "r"(shared_address(&full)) : "memory");
    cluster.sync();
    int* there = cluster.map_shared_rank(inbox, 1 - rank);
    unsigned remote;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(shared_address(&full)), "r"(1 - rank));
#ifndef FIXED
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(remote) : "memory");
#endif
    there[t] = 100 * blockIdx.x + t; //~ W
#ifdef FIXED
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(remote) : "memory");
#endif
    unsigned done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(shared_address(&full)) : "memory");
    out[blockIdx.x * 32 + t] = inbox[31 - t]; //~ R
    cluster.sync();
}
//~ RACE[racy] write-read shared cluster: W R

int main() {
    const int blocks = 4;
    Buffer<int> out(blocks * 32);
    push<<<blocks, 32>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < blocks * 32; i++) right &= out[i] == 100 * (i / 32 ^ 1) + 31 - i % 32;
    return finish(right);
}
