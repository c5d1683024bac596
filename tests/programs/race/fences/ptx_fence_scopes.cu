//@ revisions: racy fixed
//@[racy] findings: missing-fence
// `fence.acq_rel.cta` around relaxed accesses is too narrow for two blocks.
#include "check.h"

#ifdef FIXED
#define FENCE() asm volatile("fence.acq_rel.gpu;" ::: "memory")
#else
#define FENCE() asm volatile("fence.acq_rel.cta;" ::: "memory")
#endif

__global__ void pass(int* value, int* flag, int* out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        *value = 42; //~ A
        FENCE();
        asm volatile("st.relaxed.gpu.s32 [%0], 1;" ::"l"(flag) : "memory");
    } else {
        int seen;
        do {
            asm volatile("ld.relaxed.gpu.s32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
        } while (seen == 0);
        FENCE();
        *out = *value; //~ B
    }
}
//~ RACE[racy] write-read global grid: A B

int main() {
    Buffer<int> value(1), flag(1), out(1);
    pass<<<2, 32>>>(value.device, flag.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 42);
}
