//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// Each half of the block waits at a barrier of its own; the exchange crosses halves.
#include "check.h"

__device__ void wait_for_half(int half) { asm volatile("bar.sync %0, 64;" ::"r"(half + 1) : "memory"); }

__global__ void exchange(int* out) {
    __shared__ int tile[128];
    int t = threadIdx.x;
    tile[t] = 2 * t; //~ A
    wait_for_half(t / 64);
#ifdef FIXED
    out[t] = tile[t / 64 * 64 + (t + 32) % 64];
#else
    out[t] = tile[(t + 32) % 128]; //~ B
#endif
}
//~ RACE[racy] write-read shared block: A B

int main() {
    Buffer<int> out(128);
    exchange<<<1, 128>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 128; i++) right &= out[i] == 2 * (i / 64 * 64 + (i + 32) % 64);
    return finish(right);
}
