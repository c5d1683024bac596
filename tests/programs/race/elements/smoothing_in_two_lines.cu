//@ revisions: racy fixed
//@[racy] findings: missing-barrier
//@[racy] stderr-contains: of different blocks
// Smoothing in place: the first race that is seen is one of two lanes, but blocks meet, too. No barrier of a block is
// offered.
#include "check.h"

__global__ void smooth(const int* from, int* to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 >= n) return;
#ifdef FIXED
    int next = from[i + 1];
#else
    int next = to[i + 1]; //~ READ
#endif
    to[i] = next + 1; //~ WRITE
}
//~ RACE[racy] read-write|write-read global: READ WRITE

int main() {
    Buffer<int> from(256), to(256);
    iota(from);
    iota(to);
    smooth<<<4, 64>>>(from.device, to.device, 256);
    SYNC();
    to.download();
    bool right = true;
    for (int i = 0; i + 1 < 256; i++) right &= to[i] == i + 2;
    return finish(right);
}
