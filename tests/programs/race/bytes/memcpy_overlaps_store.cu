//@ revisions: racy fixed
//@[racy] findings: several-writers
// `memcpy` in a kernel writes its whole destination.
#include "check.h"

__global__ void pack(char* to, const char* from) {
    if (threadIdx.x == 0) memcpy(to, from, 48); //~ A
#ifdef FIXED
    if (threadIdx.x == 32) to[48] = 'x';
#else
    if (threadIdx.x == 32) to[47] = 'x'; //~ B
#endif
}
//~ RACE[racy] write-write global block: A B

int main() {
    Buffer<char> to(64), from(64);
    iota(from);
    pack<<<1, 64>>>(to.device, from.device);
    SYNC();
    to.download();
    return finish(to[47] == 47 && to[48] == 'x');
}
