//@ revisions: racy fixed
//@[racy] findings: missing-fence
// Each block holds four locks at once: three of its own parity, and the one that
// guards the counter. The racy form takes a fourth lock of its parity instead.
#include "check.h"

__global__ void count(int* locks, int* counter) {
    if (threadIdx.x) return;
    int parity = blockIdx.x % 2;
    int held[4] = {4 * parity, 4 * parity + 1, 4 * parity + 2, 8};
#ifdef RACY
    held[3] = 4 * parity + 3;
#endif
    for (int i = 0; i < 4; i++)
        while (atomicCAS(&locks[held[i]], 0, 1) != 0) {
        }
    __threadfence();
    *counter += 1; //~ A
    __threadfence();
    for (int i = 3; i >= 0; i--) atomicExch(&locks[held[i]], 0);
}
//~ RACE[racy] write-read|write-write global grid: A A

int main() {
    Buffer<int> locks(9), counter(1);
    count<<<6, 32>>>(locks.device, counter.device);
    SYNC();
    counter.download();
    return finish(counter[0] == 6);
}
