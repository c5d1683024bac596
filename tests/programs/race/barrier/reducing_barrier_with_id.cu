//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// `barrier.cta.red` with an id orders those whom it counts, the first two warps.
#include "check.h"

__device__ int count_true(int id, int threads, bool is) {
    int count;
    asm volatile(
        "{ .reg .pred p; setp.ne.s32 p, %3, 0; barrier.cta.red.popc.u32 %0, %1, %2, p; }"
        : "=r"(count) : "r"(id), "r"(threads), "r"((int)is) : "memory");
    return count;
}

__global__ void exchange(int* out) {
    __shared__ int tile[96];
    int t = threadIdx.x;
    tile[t] = t; //~ A
#ifdef FIXED
    int count = count_true(2, 96, t % 3 == 0);
#else
    int count = t < 64 ? count_true(2, 64, t % 3 == 0) : 0;
#endif
    out[t] = tile[t < 64 ? (t + 32) % 64 : t - 64] + count; //~ B
}
//~ RACE[racy] write-read shared block: A B

int main() {
    Buffer<int> out(96);
    exchange<<<1, 96>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 96; i++) right &= out[i] == (i < 64 ? (i + 32) % 64 : i - 64) + 32;
    return finish(right);
}
