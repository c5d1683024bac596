//@ revisions: racy fixed
//@[racy] findings: missing-atomic
// A block waits for a plain flag. The compiler may read it once, and then wait for
// ever; the executor lets the loop see the flag, and the race is reported.
#include "check.h"

__global__ void pass(int* value, int* flag, int* out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
#ifdef FIXED
        while (atomicAdd(flag, 0) == 0);
        __threadfence();
#else
        while (*flag == 0); //~ A
#endif
        *out = *value; //~ B
    } else {
        *value = 42; //~ C
#ifdef FIXED
        __threadfence();
        atomicExch(flag, 1);
#else
        *flag = 1; //~ D
#endif
    }
}
//~ RACE[racy] read-write global grid: A D
//~ RACE[racy] write-read global grid: C B

int main() {
    Buffer<int> value(1), flag(1), out(1);
    pass<<<2, 32>>>(value.device, flag.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 42);
}
