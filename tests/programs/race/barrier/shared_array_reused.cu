//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// One shared array serves two purposes, without a barrier between them.
#include "check.h"

__global__ void two_phases(const int* in, int* out) {
    __shared__ int scratch[64];
    int t = threadIdx.x;
    scratch[t] = in[t];
    __syncthreads();
    int reversed = scratch[63 - t]; //~ A
#ifdef FIXED
    __syncthreads();
#endif
    scratch[t] = reversed * 2; //~ B
    __syncthreads();
    out[t] = scratch[(t + 7) % 64];
}
//~ RACE[racy] read-write shared: A B

int main() {
    Buffer<int> in(64), out(64);
    iota(in);
    two_phases<<<1, 64>>>(in.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == 2 * (63 - (i + 7) % 64);
    return finish(right);
}
