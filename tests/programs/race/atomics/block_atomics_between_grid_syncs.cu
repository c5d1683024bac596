//@ revisions: racy fixed
//@[racy] findings: narrow-scope
// Counters of one block each, then after a barrier of the grid of the next one: block scope is
// enough for each, but not where two blocks count in one.
#include <cooperative_groups.h>
#include "check.h"
namespace cg = cooperative_groups;
__global__ void count(int* counters) {
    auto grid = cg::this_grid();
    atomicAdd_block(&counters[blockIdx.x], 1); //~ A
#ifdef FIXED
    grid.sync();
#else
    __syncthreads();
    __threadfence();
#endif
    atomicAdd_block(&counters[(blockIdx.x + 1) % gridDim.x], 1); //~ B
    grid.sync();
}
//~ RACE[racy] atomic-atomic global grid: A B
int main() {
    Buffer<int> c(4);
    int* p = c.device;
    void* args[] = {&p};
    CUDA(cudaLaunchCooperativeKernel((void*)count, dim3(4), dim3(32), args, 0, 0));
    SYNC();
    c.download();
    bool right = true;
    for (int i = 0; i < 4; i++) right &= c[i] == 64;
    return finish(right);
}
