//@ revisions: racy fixed
//@[racy] findings: loop-back-edge
// An inclusive scan in place. The loop lacks a barrier at its end, where the next round reads what this one writes. Its
// braces have lines of their own: the barrier must stand before the second one.
#include "check.h"

const int THREADS = 128;

__global__ void scan(const int* in, int* out) {
    __shared__ int sums[THREADS];
    const int t = threadIdx.x;
    sums[t] = in[t];
    __syncthreads();
    for (int stride = 1; stride < THREADS; stride *= 2)
    {
        const int other = t >= stride ? sums[t - stride] : 0; //~ A
        __syncthreads();
        sums[t] += other; //~ B
#ifdef FIXED
        __syncthreads();
#endif
    }
    out[t] = sums[t];
}
//~ RACE[racy] read-write shared: A B

int main() {
    Buffer<int> in(THREADS), out(THREADS);
    iota(in);
    scan<<<1, THREADS>>>(in.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int t = 0; t < THREADS; t++) right &= out[t] == t * (t + 1) / 2;
    return finish(right);
}
