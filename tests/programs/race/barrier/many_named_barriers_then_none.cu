//@ revisions: racy fixed
//@ seeds: 0 1
//@[racy] findings: missing-barrier
// Two warps meet 1,000 times at one of eight named barriers in turn; the racy form
// leaves out one meeting in the middle, for both.
#include "check.h"

__global__ void exchange(int* out, int rounds) {
    __shared__ int slots[64];
    int t = threadIdx.x, value = t;
    for (int k = 0; k < rounds; k++) {
        slots[t] = value; //~ A
#ifdef RACY
        if (k != rounds / 2)
#endif
            asm volatile("bar.sync %0, 64;" ::"r"(1 + k % 8) : "memory");
        value = slots[t ^ 32]; //~ B
        asm volatile("bar.sync %0, 64;" ::"r"(9 + k % 4) : "memory");
    }
    out[t] = value;
}
//~ RACE[racy] write-read shared block: A B

int main() {
    Buffer<int> out(64);
    exchange<<<1, 64>>>(out.device, 501);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == (i ^ 32);
    return finish(right);
}
