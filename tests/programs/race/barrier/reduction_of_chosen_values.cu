//@ revisions: racy fixed
//@[racy] findings: loop-back-edge
//@[racy] fixes: 1
// What memory holds decides what is stored before the loop, which says nothing of the missing barrier in it.
#include "check.h"

__global__ void count(const int* in, int* out) {
    __shared__ int tile[128];
    int t = threadIdx.x;
    if (in[t] > in[127 - t])
        tile[t] = 1;
    else
        tile[t] = 0;
    __syncthreads();
    for (int s = 64; s > 0; s /= 2) {
        if (t < s) tile[t] += tile[t + s]; //~ A
#ifdef FIXED
        __syncthreads();
#endif
    }
    if (t == 0) out[0] = tile[0];
}
//~ RACE[racy] write-read shared: A A
//~ RACE?[racy] read-write shared: A A

int main() {
    Buffer<int> in(128), out(1);
    iota(in);
    count<<<1, 128>>>(in.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 64);
}
