//@ revisions: racy fixed
//@[racy] findings: missing-fence
// Lane 0 takes and drops a lock for its warp, all lanes work on what it guards.
// Without a warp sync before the unlock, the others may still be at work.
#include "check.h"

__global__ void add(int* lock, int* table) {
    int lane = threadIdx.x;
    if (lane == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {
        }
        __threadfence();
    }
    __syncwarp();
    table[lane] += lane; //~ A
#ifdef FIXED
    __syncwarp();
#endif
    if (lane == 0) {
        __threadfence();
        atomicExch(lock, 0);
    }
}
//~ RACE[racy] write-read|write-write global grid: A A

int main() {
    Buffer<int> lock(1), table(32);
    add<<<4, 32>>>(lock.device, table.device);
    SYNC();
    table.download();
    bool right = true;
    for (int i = 0; i < 32; i++) right &= table[i] == 4 * i;
    return finish(right);
}
