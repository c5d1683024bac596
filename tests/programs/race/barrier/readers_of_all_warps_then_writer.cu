//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// Everybody reads, one thread writes without waiting for them.
#include "check.h"

__global__ void publish(int* out) {
    __shared__ int value;
    int t = threadIdx.x;
    if (t == 0) value = 7;
    __syncthreads();
    out[t] = value; //~ A
#ifdef FIXED
    __syncthreads();
#endif
    if (t == 5) value = 8; //~ B
    __syncthreads();
    if (t == 5) out[t] = value;
}
//~ RACE[racy] read-write shared: A B

int main() {
    Buffer<int> out(128);
    publish<<<1, 128>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 128; i++) right &= out[i] == (i == 5 ? 8 : 7);
    return finish(right);
}
