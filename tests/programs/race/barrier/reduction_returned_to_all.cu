//@ revisions: racy fixed
//@[racy] findings: loop-back-edge
//@[racy] fixes: 1
// All threads read the sum behind the loop. One barrier at the end of the loop orders that too.
#include "check.h"

__global__ void normalise(const int* in, int* out) {
    __shared__ int tile[128];
    int t = threadIdx.x;
    tile[t] = in[t];
    __syncthreads();
    for (int s = 64; s > 0; s /= 2) {
        if (t < s) tile[t] += tile[t + s]; //~ A
#ifdef FIXED
        __syncthreads();
#endif
    }
    out[t] = in[t] - tile[0]; //~ B
}
//~ RACE[racy] write-read shared: A A
//~ RACE?[racy] read-write shared: A A
//~ RACE[racy] write-read shared: A B

int main() {
    Buffer<int> in(128), out(128);
    iota(in);
    normalise<<<1, 128>>>(in.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 128; i++) right &= out[i] == i - 127 * 64;
    return finish(right);
}
