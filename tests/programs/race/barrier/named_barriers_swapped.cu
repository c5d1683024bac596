//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// Producer and consumer warps meet at named barriers; the consumer waits at the wrong one.
#include "check.h"

__device__ void barrier_sync(int id) { asm volatile("bar.sync %0, 64;" ::"r"(id) : "memory"); }
__device__ void barrier_arrive(int id) { asm volatile("bar.arrive %0, 64;" ::"r"(id) : "memory"); }

__global__ void pipeline(int* out) {
    __shared__ int slots[32];
    int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
#ifdef FIXED
        slots[lane] = 3 * lane;
        barrier_arrive(1); // full
        barrier_sync(2);   // empty
#else
        barrier_arrive(1);
        slots[lane] = 3 * lane; //~ A
        barrier_sync(2);
#endif
    } else {
        barrier_sync(1);
        out[lane] = slots[31 - lane]; //~ B
        barrier_arrive(2);
    }
}
//~ RACE[racy] write-read shared block: A B

int main() {
    Buffer<int> out(32);
    pipeline<<<1, 64>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 32; i++) right &= out[i] == 3 * (31 - i);
    return finish(right);
}
