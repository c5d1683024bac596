//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// The barriers between the rounds are there, the one after the load is not.
#include "check.h"

__global__ void reduce(const int* in, int* out) {
    __shared__ int tile[128];
    int t = threadIdx.x;
    tile[t] = in[t]; //~ A
#ifdef FIXED
    __syncthreads();
#endif
    for (int s = 64; s > 0; s /= 2) {
        if (t < s) tile[t] += tile[t + s]; //~ B
        __syncthreads();
    }
    if (t == 0) *out = tile[0];
}
//~ RACE[racy] write-read shared block: A B

int main() {
    Buffer<int> in(128), out(1);
    iota(in);
    reduce<<<1, 128>>>(in.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 127 * 64);
}
