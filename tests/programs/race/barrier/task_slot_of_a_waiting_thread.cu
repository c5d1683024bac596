//@ revisions: racy fixed
//@[racy] findings: loop-back-edge
// One thread waits for the block's turn and puts the task into shared memory. A barrier orders this before the others'
// reads, and another one must order the reads before the next task. No fence beside the atomics would.
#include <cuda/atomic>
#include "check.h"

__global__ void work(int* turn, int* sums) {
    __shared__ int task;
    cuda::atomic_ref<int, cuda::thread_scope_device> at(*turn);
    for (int round = 0; round < 3; round++) {
        int mine = round * gridDim.x + blockIdx.x;
        if (threadIdx.x == 0) {
            while (at.load(cuda::memory_order_acquire) != mine) {}
            task = 10 * mine; //~ W
        }
        __syncthreads();
        int v = 0;
        if (threadIdx.x >= 32) v = task; //~ R
#ifdef FIXED
        __syncthreads();
#endif
        atomicAdd(&sums[blockIdx.x], v);
        if (threadIdx.x == 0) at.store(mine + 1, cuda::memory_order_release);
    }
}
//~ RACE[racy] read-write shared block: R W

int main() {
    Buffer<int> turn(1), sums(3);
    work<<<3, 64>>>(turn.device, sums.device);
    SYNC();
    sums.download();
    bool right = true;
    for (int b = 0; b < 3; b++) right &= sums[b] == 32 * 10 * (3 * b + 9);
    return finish(right);
}
