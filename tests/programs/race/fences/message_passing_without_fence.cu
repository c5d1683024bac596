//@ revisions: racy fixed
//@[racy] findings: missing-fence
// Two warps hand over a value through an atomic flag; without fences the flag
// is no race, and orders nothing.
#include "check.h"

__global__ void pass(int* out) {
    __shared__ int value, flag;
    int t = threadIdx.x;
    if (t == 0) flag = 0;
    __syncthreads();
    if (t == 0) {
        value = 42; //~ A
#ifdef FIXED
        __threadfence_block();
#endif
        atomicExch(&flag, 1);
    }
    if (t == 32) {
        while (atomicAdd(&flag, 0) == 0) {
        }
#ifdef FIXED
        __threadfence_block();
#endif
        *out = value; //~ B
    }
}
//~ RACE[racy] write-read shared block: A B

int main() {
    Buffer<int> out(1);
    pass<<<1, 64>>>(out.device);
    SYNC();
    out.download();
    return finish(out[0] == 42);
}
