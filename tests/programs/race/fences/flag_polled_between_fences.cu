//@ revisions: racy fixed
//@[racy] findings: missing-atomic
// A fence in the loop makes the compiler read the plain flag each time. It does not make the flag atomic.
#include "check.h"

__global__ void pass(int* value, int* flag, int* out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
#ifdef FIXED
        while (atomicAdd(flag, 0) == 0) __threadfence();
#else
        while (*flag == 0) __threadfence(); //~ A
#endif
        __threadfence();
        *out = *value; //~ B
    } else {
        *value = 42; //~ C
        __threadfence();
#ifdef FIXED
        atomicExch(flag, 1);
#else
        *flag = 1; //~ D
#endif
    }
}
//~ RACE[racy] read-write|write-read global grid: A D
//~ RACE[racy] write-read global grid: C B

int main() {
    Buffer<int> value(1), flag(1), out(1);
    pass<<<2, 32>>>(value.device, flag.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 42);
}
