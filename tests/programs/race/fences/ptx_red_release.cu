//@ revisions: racy fixed
//@[racy] findings: missing-fence
// Producers count themselves done by `red`; the consumer acquires the count.
// `red.relaxed` counts, and hands over nothing.
#include "check.h"

__global__ void gather(int* values, int* done, int* out) {
    if (threadIdx.x) return;
    int b = blockIdx.x, producers = gridDim.x - 1;
    if (b < producers) {
        values[b] = b + 1; //~ A
#ifdef FIXED
        asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(done) : "memory");
#else
        asm volatile("red.relaxed.gpu.global.add.s32 [%0], 1;" ::"l"(done) : "memory");
#endif
    } else {
        int seen, sum = 0;
        do {
            asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(done) : "memory");
        } while (seen < producers);
        for (int i = 0; i < producers; i++) sum += values[i]; //~ B
        *out = sum;
    }
}
//~ RACE[racy] write-read global grid: A B

int main() {
    Buffer<int> values(4), done(1), out(1);
    gather<<<5, 32>>>(values.device, done.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 10);
}
