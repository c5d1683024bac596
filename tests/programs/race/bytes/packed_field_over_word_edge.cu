//@ revisions: racy fixed
//@[racy] findings: several-writers
// An unaligned field covers bytes of two words; the race is on the second one.
#include "check.h"

struct __attribute__((packed)) Record {
    char tag;
    int value;
    char end;
};

__global__ void store(Record* r) {
    if (threadIdx.x == 0) r->value = 0x01020304; //~ A
#ifdef FIXED
    if (threadIdx.x == 32) r->end = 9;
#else
    if (threadIdx.x == 32) reinterpret_cast<char*>(r)[4] = 9; //~ B
#endif
}
//~ RACE[racy] write-write global block: A B

int main() {
    Buffer<Record> r(1);
    store<<<1, 64>>>(r.device);
    SYNC();
    r.download();
    return finish(r[0].value == 0x01020304 && r[0].end == 9);
}
