//@ revisions: racy fixed
//@[racy] findings: loop-back-edge|several-writers
// Sums in place: a thread's element is that of another thread in the round before. Several threads write it, one after the
// other; a barrier is missing between the rounds. Which races are found decides whether the cause is told rightly.
#include "check.h"

__global__ void halve(int* out, int levels) {
    __shared__ int tile[128];
    int t = threadIdx.x;
    tile[t] = t;
    __syncthreads();
    int step = 1, active = 64, first = 2 * t;
    for (int level = 0; level < levels; level++) {
        if (t < active) {
            int second = first + step;
            tile[first] = tile[first] + tile[second]; //~ A
            active /= 2;
            step *= 2;
            first *= 2;
        }
#ifdef FIXED
        __syncthreads();
#endif
    }
    if (t == 0) out[0] = tile[0];
}
//~ RACE[racy] write-read shared: A A
//~ RACE?[racy] read-write shared: A A
//~ RACE?[racy] write-write shared: A A

int main() {
    Buffer<int> out(1);
    halve<<<1, 128>>>(out.device, 7);
    SYNC();
    out.download();
    return finish(out[0] == 127 * 64);
}
