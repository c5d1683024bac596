//@ revisions: racy fixed
//@[racy] findings: several-writers
// Each thread fills a row of an array. In the racy form a row also gets the first element of the next one.
#include "check.h"

__global__ void fill(unsigned* out, unsigned wide) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, end = wide;
#ifndef FIXED
    end++;
#endif
    for (unsigned k = 0; k < end; k++) out[t * wide + k] = t; //~ A
}
//~ RACE[racy] write-write global: A A

int main() {
    const unsigned wide = 21, threads = 128;
    Buffer<unsigned> out(wide * threads + 1);
    out.upload();
    fill<<<2, threads / 2>>>(out.device, wide);
    SYNC();
    out.download();
    bool right = true;
    for (unsigned i = 0; i < wide * threads; i++) right &= i % wide == 0 || out[i] == i / wide;
    return finish(right);
}
