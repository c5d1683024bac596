//@ revisions: racy fixed
//@[racy] findings: missing-fence
// Block 0 releases, block 1 counts on by a relaxed read-modify-write, block 2
// acquires what block 1 wrote: still block 0's release. A relaxed store by
// block 1 breaks that chain, though it is as atomic.
#include "check.h"

__global__ void pass(int* value, int* flag, int* turn, int* out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        *value = 42; //~ A
        asm volatile("st.release.gpu.s32 [%0], 1;" ::"l"(flag) : "memory");
    } else if (blockIdx.x == 1) {
        while (atomicAdd(flag, 0) != 1) {
        }
#ifdef FIXED
        atomicAdd(flag, 1);
#else
        asm volatile("st.relaxed.gpu.s32 [%0], 2;" ::"l"(flag) : "memory");
#endif
        atomicExch(turn, 1);
    } else {
        // Wait elsewhere, so that the flag's first value is never seen here.
        while (atomicAdd(turn, 0) == 0) {
        }
        int seen;
        asm volatile("ld.acquire.gpu.s32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
        *out = seen + *value; //~ B
    }
}
//~ RACE[racy] write-read global grid: A B

int main() {
    Buffer<int> value(1), flag(1), turn(1), out(1);
    pass<<<3, 32>>>(value.device, flag.device, turn.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 44);
}
