//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// Sixteen bytes are read at once, one of which another thread writes.
#include "check.h"
__global__ void look(unsigned char* out) {
    alignas(16) __shared__ unsigned char bytes[48];
    int t = threadIdx.x;
    if (t < 48) bytes[t] = t;
    __syncthreads();
    if (t == 40)
#ifdef RACY
        bytes[31] = 7; //~ W
#else
        bytes[32] = 7;
#endif
    if (t == 0) {
        uint4 v = *reinterpret_cast<uint4*>(bytes + 16); //~ R
        *out = v.x & 0xff;
    }
}
//~ RACE[racy] write-read|read-write shared block: W R
int main() {
    Buffer<unsigned char> out(1);
    look<<<1, 64>>>(out.device);
    SYNC();
    out.download();
    return finish(out[0] == 16);
}
