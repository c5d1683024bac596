//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// Two buffers in turn need a barrier in each round; one in two rounds is too few.
#include "check.h"

__global__ void rotate(int* out, int rounds) {
    __shared__ int buffers[2][64];
    int t = threadIdx.x, value = t;
    for (int k = 0; k < rounds; k++) {
        buffers[k % 2][t] = value; //~ A
#ifdef RACY
        if (k % 2 == 0)
#endif
            __syncthreads();
        value = buffers[k % 2][(t + 33) % 64]; //~ B
    }
    out[t] = value;
}
//~ RACE[racy] write-read shared: A B

int main() {
    Buffer<int> out(64);
    rotate<<<1, 64>>>(out.device, 6);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == (i + 6 * 33) % 64;
    return finish(right);
}
