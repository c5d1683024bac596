//@ revisions: racy fixed
//@ options: explore=0
//@[racy] findings: missing-barrier
// Between two barriers of the grid one block writes what the others read. Which schedule runs makes no difference,
// though a block may have arrived at the second barrier before another one looks whether the first is over.
#include <cooperative_groups.h>

#include "check.h"
namespace cg = cooperative_groups;

__global__ void publish(int* value, int* seen, int writer) {
    cg::grid_group grid = cg::this_grid();
    if (threadIdx.x == 0) seen[blockIdx.x] = 0;
    grid.sync();
    if (blockIdx.x == writer && threadIdx.x == 0) *value = 7; //~ WRITE
#ifdef FIXED
    grid.sync();
#endif
    if (blockIdx.x == 0 && threadIdx.x == 0) seen[blockIdx.x] = *value; //~ READ
    grid.sync();
}
//~ RACE[racy] write-read|read-write global grid: WRITE READ

int main() {
    Buffer<int> value(1), seen(8);
    int writer = 5;
    void* args[] = {&value.device, &seen.device, &writer};
    CUDA(cudaLaunchCooperativeKernel((void*)publish, dim3(8), dim3(32), args, 0, nullptr));
    SYNC();
#ifdef FIXED
    seen.download();
    return finish(seen[0] == 7);
#else
    return finish(true);
#endif
}
