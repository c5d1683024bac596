//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// `bar.arrive` lets the consumer go on; who only arrives has waited for nobody.
#include "check.h"

__global__ void exchange(int* out) {
    __shared__ int from_first[32], from_second[32];
    int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        from_first[lane] = lane;
#ifdef FIXED
        asm volatile("bar.sync 1, 64;" ::: "memory");
#else
        asm volatile("bar.arrive 1, 64;" ::: "memory");
#endif
        out[lane] = from_second[31 - lane]; //~ B
    } else {
        from_second[lane] = 7 * lane; //~ A
        asm volatile("bar.sync 1, 64;" ::: "memory");
        out[32 + lane] = from_first[31 - lane];
    }
}
//~ RACE[racy] write-read shared block: A B

int main() {
    Buffer<int> out(64);
    exchange<<<1, 64>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 32; i++) right &= out[i] == 7 * (31 - i) && out[32 + i] == 31 - i;
    return finish(right);
}
