//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// One block hands a value to another one through a plain flag.
#include "check.h"

__global__ void pass(int* value, int* flag, int* out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        *value = 42; //~ A
#ifdef FIXED
        __threadfence();
        atomicExch(flag, 1);
#else
        *flag = 1; //~ B
#endif
    } else {
#ifdef FIXED
        while (atomicAdd(flag, 0) == 0) {
        }
        __threadfence();
        *out = *value;
#else
        int seen = *flag; //~ C
        *out = seen + *value; //~ D
#endif
    }
}
//~ RACE[racy] write-read global grid: B C
//~ RACE[racy] write-read global grid: A D

int main() {
    Buffer<int> value(1), flag(1), out(1);
    pass<<<2, 32>>>(value.device, flag.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 42);
}
