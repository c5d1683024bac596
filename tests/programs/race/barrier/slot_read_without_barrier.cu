//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// Threads take a number each from a counter. The number decides who reads on, but tells of no other thread's write.
#include "check.h"

const int N = 64;

__global__ void pairs(int* counter, int* out) {
    __shared__ int taken[N];
    int t = threadIdx.x, number = atomicAdd(counter, 1);
    taken[t] = number; //~ A
#ifdef FIXED
    __syncthreads();
#endif
    if (number < N / 2) out[t] = number + taken[N - 1 - t]; //~ B
}
//~ RACE[racy] write-read|read-write shared: A B

int main() {
    Buffer<int> counter(1), out(N);
    pairs<<<1, N>>>(counter.device, out.device);
    SYNC();
    out.download();
    int written = 0;
    for (int t = 0; t < N; t++) written += out[t] != 0;
    // Two threads have two numbers, so no sum is 0.
    return finish(written == N / 2);
}
