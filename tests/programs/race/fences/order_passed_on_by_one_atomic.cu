//@ revisions: racy fixed
//@[racy] findings: missing-fence
// Warp 0 releases at block scope. Warp 1 of its block sets the same flag one further by
// a single atomic, which acquires that and releases it to the other block. The racy
// form's atomic acquires nothing that it could pass on.
#include "check.h"

__global__ void pass(int* value, int* flag, int* out) {
    if (threadIdx.x % 32) return;
    int warp = threadIdx.x / 32;
    int seen;
    if (blockIdx.x == 0 && warp == 0) {
        *value = 42; //~ A
        __threadfence_block();
        atomicExch(flag, 1);
    } else if (blockIdx.x == 0) {
        do {
#ifdef FIXED
            asm volatile("atom.acq_rel.gpu.global.cas.b32 %0, [%1], 1, 2;" : "=r"(seen) : "l"(flag) : "memory");
#else
            asm volatile("atom.release.gpu.global.cas.b32 %0, [%1], 1, 2;" : "=r"(seen) : "l"(flag) : "memory");
#endif
        } while (seen != 1);
    } else if (warp == 0) {
        do {
            asm volatile("ld.acquire.gpu.s32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
        } while (seen != 2);
        *out = *value; //~ B
    }
}
//~ RACE[racy] write-read global grid: A B

int main() {
    Buffer<int> value(1), flag(1), out(1);
    pass<<<2, 64>>>(value.device, flag.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 42);
}
