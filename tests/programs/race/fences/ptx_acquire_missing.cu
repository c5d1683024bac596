//@ revisions: racy fixed
//@[racy] findings: missing-fence
// The release is there, and nobody acquires: a relaxed load of the flag orders nothing.
#include "check.h"

__global__ void pass(int* value, int* flag, int* out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        *value = 42; //~ A
        asm volatile("st.release.gpu.s32 [%0], 1;" ::"l"(flag) : "memory");
    } else {
        int seen;
        do {
#ifdef FIXED
            asm volatile("ld.acquire.gpu.s32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
#else
            asm volatile("ld.relaxed.gpu.s32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
#endif
        } while (seen == 0);
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
