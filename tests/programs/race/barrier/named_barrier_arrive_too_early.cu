//@ revisions: racy fixed
//@[racy] findings: loop-back-edge
// A producer warp fills two slots in turn for a consumer warp. The consumer says
// `empty` before it has read the slot, so the producer may overwrite it.
#include "check.h"

__device__ void wait(int id) { asm volatile("bar.sync %0, 64;" ::"r"(id) : "memory"); }
__device__ void arrive(int id) { asm volatile("bar.arrive %0, 64;" ::"r"(id) : "memory"); }

__global__ void pipeline(int* out, int rounds) {
    __shared__ int slots[2][32];
    int lane = threadIdx.x % 32, sum = 0;
    for (int k = 0; k < rounds; k++) {
        int slot = k % 2, full = 1 + slot, empty = 3 + slot;
        if (threadIdx.x < 32) {
            if (k >= 2) wait(empty);
            slots[slot][lane] = k * lane; //~ A
            arrive(full);
        } else {
            wait(full);
#ifdef RACY
            if (k + 2 < rounds) arrive(empty);
#endif
            sum += slots[slot][31 - lane]; //~ B
#ifdef FIXED
            if (k + 2 < rounds) arrive(empty);
#endif
        }
    }
    if (threadIdx.x >= 32) out[lane] = sum;
}
//~ RACE[racy] read-write shared block: B A

int main() {
    Buffer<int> out(32);
    pipeline<<<1, 64>>>(out.device, 10);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 32; i++) right &= out[i] == 45 * (31 - i);
    return finish(right);
}
