//@ revisions: racy fixed
//@[racy] findings: missing-fence
// Inline PTX: `st.release` and `ld.acquire` hand a value over, `st.relaxed` and
// `ld.relaxed` do not.
#include "check.h"

__device__ void set(int* flag) {
#ifdef FIXED
    asm volatile("st.release.gpu.global.s32 [%0], 1;" ::"l"(flag) : "memory");
#else
    asm volatile("st.relaxed.gpu.global.s32 [%0], 1;" ::"l"(flag) : "memory");
#endif
}

__device__ int get(int* flag) {
    int value;
#ifdef FIXED
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
#else
    asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
#endif
    return value;
}

__global__ void pass(int* value, int* flag, int* out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        *value = 42; //~ A
        set(flag);
    } else {
        while (get(flag) == 0) {
        }
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
