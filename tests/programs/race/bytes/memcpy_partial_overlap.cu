//@ revisions: racy fixed
//@[racy] findings: several-writers
// Each thread copies ten bytes into slots of eight: two bytes of the next slot are hit.
#include "check.h"

#ifdef FIXED
#define LENGTH 8
#else
#define LENGTH 10
#endif

__global__ void copy(const char* in, char* out) {
    int t = threadIdx.x;
    memcpy(&out[8 * t], &in[8 * t], LENGTH); //~ A
}
//~ RACE[racy] write-write global: A A

int main() {
    Buffer<char> in(8 * 65), out(8 * 65);
    iota(in);
    copy<<<1, 64>>>(in.device, out.device);
    SYNC();
    out.download();
    return finish(memcmp(in.host, out.host, 8 * 64) == 0);
}
