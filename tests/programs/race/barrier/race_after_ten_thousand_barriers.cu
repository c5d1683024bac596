//@ revisions: racy fixed
//@ opt: O2
//@ seeds: 0 1
//@[racy] findings: missing-barrier
// The barrier of one round among 10,000 is skipped. One word is left from the very
// first round: what was ordered then is still ordered.
#include "check.h"

__global__ void rotate(int* out, int rounds) {
    __shared__ int tile[64], first[64];
    int t = threadIdx.x, value = t;
    first[t] = t;
    for (int k = 0; k < rounds; k++) {
        tile[t] = value; //~ A
#ifdef RACY
        if (k != rounds - 3)
#endif
            __syncthreads();
        value = tile[(t + 33) % 64]; //~ B
        __syncthreads();
    }
    out[t] = value + first[63 - t];
}
//~ RACE[racy] write-read shared: A B

int main() {
    Buffer<int> out(64);
    rotate<<<1, 64>>>(out.device, 5000);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == (i + 5000 * 33) % 64 + 63 - i;
    return finish(right);
}
