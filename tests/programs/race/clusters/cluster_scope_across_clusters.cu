//@ revisions: racy fixed
//@ compile-flags: --cuda-gpu-arch=sm_90
//@[racy] findings: narrow-scope
// Atomics at cluster scope are atomic to the blocks of one cluster, and to no others.
#include "check.h"

__global__ void count(int* counters) {
    unsigned cluster;
    asm("mov.u32 %0, %%clusterid.x;" : "=r"(cluster));
#ifdef FIXED
    int* counter = counters + cluster;
#else
    int* counter = counters;
#endif
    asm volatile("red.relaxed.cluster.global.add.s32 [%0], 1;" :: "l"(counter) : "memory"); //~ A
}
//~ RACE[racy] atomic-atomic global grid: A A

int main() {
    Buffer<int> counters(2);
    cudaLaunchConfig_t config = {};
    config.gridDim = 8;
    config.blockDim = 32;
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {4, 1, 1};
    config.attrs = &attribute;
    config.numAttrs = 1;
    CUDA(cudaLaunchKernelEx(&config, count, counters.device));
    SYNC();
    counters.download();
    return finish(counters[0] == 128 && counters[1] == 128);
}
