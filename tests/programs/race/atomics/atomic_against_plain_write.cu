//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// The counter is cleared while others may have counted already.
#include "check.h"

__global__ void count(int* out) {
    __shared__ int counter;
    if (threadIdx.x == 0) counter = 0; //~ A
#ifdef FIXED
    __syncthreads();
#endif
    atomicAdd(&counter, 1); //~ B
    __syncthreads();
    if (threadIdx.x == 0) *out = counter;
}
//~ RACE[racy] write-atomic shared: A B

int main() {
    Buffer<int> out(1);
    count<<<1, 64>>>(out.device);
    SYNC();
    out.download();
    return finish(out[0] == 64);
}
