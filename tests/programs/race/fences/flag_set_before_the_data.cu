//@ revisions: racy fixed
//@[racy] findings: early-release
// A flag that is set too early tells of nothing.
#include "check.h"

__global__ void pass(int* value, int* flag, int* out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
#ifdef FIXED
        *value = 42;
        __threadfence();
        atomicExch(flag, 1);
#else
        atomicExch(flag, 1);
        __threadfence();
        *value = 42; //~ A
#endif
    } else {
        while (atomicAdd(flag, 0) == 0) {
        }
        __threadfence();
        *out = *value; //~ B
    }
}
//~ RACE[racy] write-read|read-write global grid: A B

int main() {
    Buffer<int> value(1), flag(1), out(1);
    pass<<<2, 32>>>(value.device, flag.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 42);
}
