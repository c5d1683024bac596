//@ revisions: racy fixed
//@[racy] findings: missing-atomic
// A `__device__` variable, counted up by one thread of each block.
#include "check.h"

__device__ int blocks_done;

__global__ void finish_block() {
    if (threadIdx.x == 0) {
#ifdef FIXED
        atomicAdd(&blocks_done, 1);
#else
        blocks_done = blocks_done + 1; //~ A
#endif
    }
}
//~ RACE[racy] write-read|write-write global grid: A A

int main() {
    finish_block<<<8, 32>>>();
    SYNC();
    int done = 0;
    CUDA(cudaMemcpyFromSymbol(&done, blocks_done, sizeof done));
    return finish(done == 8);
}
