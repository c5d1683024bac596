//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// Two readers, then a writer. The later reader is ordered before the writer by
// `__syncwarp`; the earlier one, in another warp, is not.
#include "check.h"

__global__ void publish(int* out) {
    __shared__ int value;
    int t = threadIdx.x;
    if (t == 0) value = 7;
    __syncthreads();
    if (t == 32) out[0] = value; //~ A
#ifdef FIXED
    __syncthreads();
#endif
    if (t < 32) {
        if (t == 1) out[1] = value; //~ B
        __syncwarp();
        if (t == 0) value = 8; //~ C
    }
    __syncthreads();
    if (t == 2) out[2] = value;
}
//~ RACE[racy] read-write shared block: A C

int main() {
    Buffer<int> out(3);
    publish<<<1, 64>>>(out.device);
    SYNC();
    out.download();
    return finish(out[0] == 7 && out[1] == 7 && out[2] == 8);
}
