//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// Threads fill a tile and then add up elements of others, in an unrolled loop. The barrier belongs before the pragma: no
// statement may stand between a pragma and its loop.
#include "check.h"

const int THREADS = 256;

__global__ void sums(const int* in, int* out) {
    __shared__ int tile[THREADS];
    const int t = threadIdx.x;
    tile[t] = in[t]; //~ A
    int sum = 0;
#ifdef FIXED
    __syncthreads();
#endif
#pragma unroll
    for (int i = 0; i < 4; i++) sum += tile[(t + i * 64) % THREADS]; //~ B
    out[t] = sum;
}
//~ RACE[racy] read-write shared: B A

int main() {
    Buffer<int> in(THREADS), out(THREADS);
    iota(in);
    sums<<<1, THREADS>>>(in.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int t = 0; t < THREADS; t++) {
        int sum = 0;
        for (int i = 0; i < 4; i++) sum += (t + i * 64) % THREADS;
        right &= out[t] == sum;
    }
    return finish(right);
}
