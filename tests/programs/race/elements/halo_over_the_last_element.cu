//@ revisions: racy reread fixed
//@[racy] findings: several-writers
//@[reread] findings: missing-barrier
// A tile with a halo. The right halo is stored one element too early: a barrier would only lose the tile's last element.
// Where the value is read and stored again, a barrier is what lacks.
#include "check.h"

__global__ void stencil(const int* in, int* out) {
    __shared__ int tile[64 + 2];
    int t = threadIdx.x;
    tile[t + 1] = in[t + 1]; //~ A
#ifdef REREAD
    if (t == 0) tile[64] = 2 * tile[64]; //~ C
#endif
    if (t == 0) {
        tile[0] = in[0];
#ifdef RACY
        tile[64] = in[65]; //~ B
#else
        tile[65] = in[65];
#endif
    }
    __syncthreads();
    out[t] = tile[t] + tile[t + 1] + tile[t + 2];
}
//~ RACE[racy] write-write shared block: A B
//~ RACE[reread] write-read|read-write|write-write shared block: A C

int main() {
    Buffer<int> in(66), out(64);
    for (int i = 0; i < 66; i++) in[i] = i;
    in.upload();
    stencil<<<1, 64>>>(in.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 3 && out[20] == 63);
}
