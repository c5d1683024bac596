//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// The barrier at the loop's head is skipped in the first round, whose tile was
// filled before the loop: the first round reads what nobody has waited for.
#include "check.h"

__global__ void sum_tiles(const int* in, int* out, int rounds) {
    __shared__ int tile[64];
    int t = threadIdx.x, sum = 0;
    tile[t] = in[t]; //~ A
    for (int k = 0; k < rounds; k++) {
#ifdef RACY
        if (k > 0)
#endif
            __syncthreads();
        for (int i = 0; i < 64; i++) sum += tile[i]; //~ B
        __syncthreads();
        if (k + 1 < rounds) tile[t] = in[(k + 1) * 64 + t];
    }
    out[t] = sum;
}
//~ RACE[racy] write-read shared: A B

int main() {
    Buffer<int> in(256), out(64);
    iota(in);
    sum_tiles<<<1, 64>>>(in.device, out.device, 4);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == 255 * 128;
    return finish(right);
}
