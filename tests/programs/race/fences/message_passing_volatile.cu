//@ revisions: racy fixed
//@[racy] findings: missing-atomic
// A volatile flag with fences orders the payload; the flag itself still races.
#include "check.h"

__global__ void pass(int* value, volatile int* flag, int* out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        *value = 42;
        __threadfence();
#ifdef FIXED
        atomicExch(const_cast<int*>(flag), 1);
#else
        *flag = 1; //~ A
#endif
    } else {
#ifdef FIXED
        while (atomicAdd(const_cast<int*>(flag), 0) == 0) {
#else
        while (*flag == 0) { //~ B
#endif
        }
        __threadfence();
        *out = *value;
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
