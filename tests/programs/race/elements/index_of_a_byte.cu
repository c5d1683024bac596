//@ revisions: racy fixed
//@[racy] findings: several-writers
// An index of one byte wraps around: threads 256 apart write to one place.
#include "check.h"

__global__ void write(unsigned offset, int* out) {
    out[(unsigned char)(threadIdx.x + offset)] = threadIdx.x; //~ A
}
//~ RACE[racy] write-write global block: A A

int main() {
    Buffer<int> out(256);
#ifdef FIXED
    int threads = 256;
#else
    int threads = 512;
#endif
    // Without an offset as many as there are bytes; with one each wraps around.
    write<<<1, threads>>>(0, out.device);
    SYNC();
    write<<<1, threads>>>(100, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 256; i++) right &= out[(i + 100) % 256] % 256 == i;
    return finish(right);
}
