//@ revisions: racy fixed
//@[racy] findings: several-writers
// Threads step over the elements of others. In the racy form each also writes the element of the next thread.
#include "check.h"

__global__ void pairs(unsigned* out, unsigned n) {
    for (unsigned i = threadIdx.x; i + 1 < n; i += blockDim.x) {
        out[i] = 2 * i; //~ A
#ifndef FIXED
        out[i + 1] = 2 * i + 2; //~ B
#endif
    }
}
//~ RACE[racy] write-write global: A B

int main() {
    const unsigned n = 1000;
    Buffer<unsigned> out(n);
    out.upload();
    pairs<<<1, 64>>>(out.device, n);
    SYNC();
    out.download();
    bool right = true;
    for (unsigned i = 0; i + 1 < n; i++) right &= out[i] == 2 * i;
    return finish(right);
}
