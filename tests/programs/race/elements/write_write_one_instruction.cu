//@ revisions: racy fixed
//@[racy] findings: several-writers
// All lanes of a warp store to one word by the same instruction.
#include "check.h"

__global__ void last_lane(int* out) {
    __shared__ int winner;
    int t = threadIdx.x;
#ifdef FIXED
    if (t == 31)
#endif
        winner = t; //~ A
    __syncthreads();
    out[t] = winner;
}
//~ RACE[racy] write-write shared warp other-value: A A

int main() {
    Buffer<int> out(32);
    last_lane<<<1, 32>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 32; i++) right &= out[i] == 31;
    return finish(right);
}
