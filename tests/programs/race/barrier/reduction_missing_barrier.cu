//@ revisions: racy fixed
//@[racy] findings: loop-back-edge
// A tree reduction in shared memory without a barrier between its rounds.
#include "check.h"

__global__ void reduce(const int* in, int* out) {
    __shared__ int tile[128];
    int t = threadIdx.x;
    tile[t] = in[blockIdx.x * 128 + t];
    __syncthreads();
    for (int s = 64; s > 0; s /= 2) {
        if (t < s) tile[t] += tile[t + s]; //~ A
#ifdef FIXED
        __syncthreads();
#endif
    }
    if (t == 0) out[blockIdx.x] = tile[0];
}
//~ RACE[racy] write-read shared: A A

int main() {
    Buffer<int> in(256), out(2);
    iota(in);
    reduce<<<2, 128>>>(in.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 127 * 64 && out[1] == 127 * 64 + 128 * 128);
}
