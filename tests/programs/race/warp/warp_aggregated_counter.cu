//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// One lane adds for all lanes that are active; the others take their numbers from it by
// a shuffle. Through shared memory they would need a warp sync.
#include "check.h"

__global__ void number(int* counter, int* numbers) {
    __shared__ int base_of_warp[2];
    int t = threadIdx.x, lane = t % 32, base = 0;
    if (t % 3 == 0) {
        unsigned active = __activemask();
        int leader = __ffs(active) - 1;
#ifdef FIXED
        if (lane == leader) base = atomicAdd(counter, __popc(active));
        base = __shfl_sync(active, base, leader);
#else
        if (lane == leader) base_of_warp[t / 32] = atomicAdd(counter, __popc(active)); //~ A
        __activemask();
        base = base_of_warp[t / 32]; //~ B
#endif
        numbers[t] = 1 + base + __popc(active & ((1u << lane) - 1));
    }
    (void)base_of_warp;
}
//~ RACE[racy] write-read|write-write shared warp: A B

int main() {
    Buffer<int> counter(1), numbers(64);
    number<<<1, 64>>>(counter.device, numbers.device);
    SYNC();
    counter.download();
    numbers.download();
    bool seen[23] = {}, right = counter[0] == 22;
    for (int i = 0; i < 64; i += 3) seen[numbers[i]] = true;
    for (int i = 1; i <= 22; i++) right &= seen[i];
    return finish(right);
}
