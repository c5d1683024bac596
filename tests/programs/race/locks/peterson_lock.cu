//@ revisions: racy fixed
//@[racy] findings: missing-fence
// Peterson's lock for two warps of a block, on atomics in shared memory. It keeps
// them apart; without fences nothing of the section is handed over.
#include "check.h"

__global__ void count(int* out, int rounds) {
    __shared__ int wants[2], turn, counter;
    if (threadIdx.x == 0) wants[0] = wants[1] = turn = counter = 0;
    __syncthreads();
    if (threadIdx.x % 32) return;
    int me = threadIdx.x / 32, other = 1 - me;
    for (int i = 0; i < rounds; i++) {
        atomicExch(&wants[me], 1);
        atomicExch(&turn, other);
        __threadfence_block();
        while (atomicAdd(&wants[other], 0) == 1 && atomicAdd(&turn, 0) == other) {
        }
#ifdef FIXED
        __threadfence_block();
#endif
        counter++; //~ A
#ifdef FIXED
        __threadfence_block();
#endif
        atomicExch(&wants[me], 0);
    }
    atomicAdd(out, rounds);
}
//~ RACE[racy] write-read|write-write shared block: A A

int main() {
    Buffer<int> out(1);
    count<<<1, 64>>>(out.device, 4);
    SYNC();
    out.download();
    return finish(out[0] == 8);
}
