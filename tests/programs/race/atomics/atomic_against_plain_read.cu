//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// Threads count atomically; others look at the counter without waiting.
#include "check.h"

__global__ void count(int* out) {
    __shared__ int counter;
    int t = threadIdx.x;
    if (t == 0) counter = 0;
    __syncthreads();
    atomicAdd(&counter, 1); //~ A
#ifdef FIXED
    __syncthreads();
#endif
    out[t] = counter; //~ B
}
//~ RACE[racy] atomic-read shared: A B

int main() {
    Buffer<int> out(64);
    count<<<1, 64>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == 64;
    return finish(right);
}
