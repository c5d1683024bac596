//@ revisions: racy fixed
//@[racy] findings: loop-back-edge
// Two buffers between a warp that fills and one that empties them: a buffer is free once it has been read.
#include "check.h"
__global__ void run(int* out) {
    __shared__ int buf[2][32];
    int lane = threadIdx.x % 32, w = threadIdx.x / 32;
    for (int r = 0; r < 6; r++) {
        int s = r % 2;
        if (w == 0) {
            if (r >= 2) asm volatile("bar.sync %0, 64;" :: "r"(3 + s) : "memory");
            buf[s][lane] = r * 32 + lane; //~ W
            asm volatile("bar.arrive %0, 64;" :: "r"(1 + s) : "memory");
        } else {
#ifdef RACY
            asm volatile("bar.sync %0, 64;" :: "r"(1 + s) : "memory");
            if (r < 4) asm volatile("bar.arrive %0, 64;" :: "r"(3 + s) : "memory");
            out[r * 32 + lane] = buf[s][31 - lane]; //~ R
#else
            asm volatile("bar.sync %0, 64;" :: "r"(1 + s) : "memory");
            out[r * 32 + lane] = buf[s][31 - lane];
            if (r < 4) asm volatile("bar.arrive %0, 64;" :: "r"(3 + s) : "memory");
#endif
        }
    }
}
//~ RACE[racy] read-write|write-read shared block: R W
int main() {
    Buffer<int> out(192);
    run<<<1, 64>>>(out.device);
    SYNC();
    out.download();
    return finish(out[0] == 31 && out[191] == 160);
}
