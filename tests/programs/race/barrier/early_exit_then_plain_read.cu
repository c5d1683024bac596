//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// Threads that write and leave are not ordered before those that stay.
#include "check.h"

__global__ void handover(int* out) {
    __shared__ int slots[64];
    int t = threadIdx.x;
    slots[t] = t; //~ A
#ifdef FIXED
    __syncthreads();
#endif
    if (t >= 32) return;
    out[t] = slots[t + 32]; //~ B
}
//~ RACE[racy] write-read shared block: A B

int main() {
    Buffer<int> out(32);
    handover<<<1, 64>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 32; i++) right &= out[i] == i + 32;
    return finish(right);
}
