//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// Each thread writes its element and reads its neighbour's.
#include "check.h"

__global__ void rotate(const int* in, int* out) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = in[t]; //~ A
#ifdef FIXED
    __syncthreads();
#endif
    out[t] = tile[(t + 1) % 64]; //~ B
}
//~ RACE[racy] write-read shared: A B

int main() {
    Buffer<int> in(64), out(64);
    iota(in);
    rotate<<<1, 64>>>(in.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == (i + 1) % 64;
    return finish(right);
}
