//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// Two bit-fields of one unit: writing one reads and writes the other's bits.
#include "check.h"

struct Flags {
    unsigned low : 4;
#ifdef FIXED
    unsigned : 0;
#endif
    unsigned high : 4;
};

__global__ void set(Flags* flags) {
    if (threadIdx.x == 0) flags->low = 5; //~ A
    if (threadIdx.x == 32) flags->high = 9; //~ B
}
//~ RACE[racy] write-read|read-write|write-write global block: A B

int main() {
    Buffer<Flags> flags(1);
    set<<<1, 64>>>(flags.device);
    SYNC();
    flags.download();
    return finish(flags[0].low == 5 && flags[0].high == 9);
}
