//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// A maximum by atomics in shared memory, read by all and reset by one for the next round.
#include "check.h"
__global__ void rounds(const int* in, int* out) {
    __shared__ int top;
    int t = threadIdx.x;
    if (t == 0) top = 0; //~ Z
    __syncthreads();
    for (int r = 0; r < 4; r++) {
        atomicMax(&top, in[r * blockDim.x + t]); //~ A
        __syncthreads();
        out[r * blockDim.x + t] = top; //~ R
#ifdef FIXED
        __syncthreads();
#endif
        if (t == 0) top = 0; //~ S
        __syncthreads();
    }
}
//~ RACE[racy] read-write|write-read shared: R S
int main() {
    Buffer<int> in(4 * 96), out(4 * 96);
    iota(in);
    rounds<<<1, 96>>>(in.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 95 && out[96] == 191);
}
