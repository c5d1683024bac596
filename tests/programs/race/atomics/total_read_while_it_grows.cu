//@ revisions: racy set_first fixed
//@[racy] findings: missing-barrier
//@[set_first] findings: missing-barrier
// A total of all blocks is there when the launch ends, and starts from what was there before. An atomic read would give a
// part of it, and an atomic store would lose one.
#include "check.h"

__global__ void add(const int* in, int* total, int* out) {
#ifdef SET_FIRST
    if (blockIdx.x == 0 && threadIdx.x == 0) *total = 0; //~ S
#endif
    atomicAdd(total, in[blockIdx.x * blockDim.x + threadIdx.x]); //~ A
#ifdef RACY
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = *total; //~ R
#endif
}
//~ RACE[racy] atomic-read|read-atomic global grid: A R
//~ RACE[set_first] write-atomic|atomic-write global: S A

int main() {
    Buffer<int> in(256), total(1), out(4);
    iota(in);
    add<<<4, 64>>>(in.device, total.device, out.device);
    SYNC();
    total.download();
#ifdef SET_FIRST
    return 0;
#else
    return finish(total[0] == 256 * 255 / 2);
#endif
}
