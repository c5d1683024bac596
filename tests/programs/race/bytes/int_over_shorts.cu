//@ revisions: racy fixed
//@[racy] findings: several-writers
// A 4-byte clear of two counters of 2 bytes, of which another warp adds to one.
#include "check.h"

__global__ void update(short* counters) {
    int t = threadIdx.x;
    if (t < 32) {
#ifdef FIXED
        counters[2 * t] = 0;
#else
        *reinterpret_cast<int*>(&counters[2 * t]) = 0; //~ A
#endif
    } else {
        counters[2 * (t - 32) + 1] = 7; //~ B
    }
}
//~ RACE[racy] write-write global block: A B

int main() {
    Buffer<short> counters(64);
    update<<<1, 64>>>(counters.device);
    SYNC();
    counters.download();
    bool right = true;
    for (int i = 0; i < 32; i++) right &= counters[2 * i] == 0 && counters[2 * i + 1] == 7;
    return finish(right);
}
