//@ revisions: racy fixed
//@[racy] findings: missing-fence
// `membar.cta` holds for a block, `membar.gl` for the device, `membar.sys` for all.
// The racy form has the narrow one on one side only: that side decides.
#include "check.h"

__global__ void pass(int* value, int* flag, int* out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        *value = 42; //~ A
        asm volatile("membar.sys;" ::: "memory");
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) {
        }
#ifdef FIXED
        asm volatile("membar.gl;" ::: "memory");
#else
        asm volatile("membar.cta;" ::: "memory");
#endif
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
