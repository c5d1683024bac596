//@ revisions: racy fixed
//@ options: volatile=relaxed
//@[racy] findings: missing-atomic
// With `volatile=relaxed` a volatile flag does not race with itself. It races with a plain access as an atomic does.
#include "check.h"

__global__ void pass(int* value, int* flag, int* out) {
    volatile int* shown = flag;
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        *value = 42;
        __threadfence();
        *shown = 1; //~ SET
    } else if (blockIdx.x == 1) {
        while (*shown == 0) {
        }
        __threadfence();
        out[0] = *value;
    } else {
#ifdef FIXED
        out[1] = *shown;
#else
        out[1] = *flag; //~ PLAIN
#endif
    }
}
//~ RACE[racy] write-read|read-write global grid: SET PLAIN

int main() {
    Buffer<int> value(1), flag(1), out(2);
    pass<<<3, 32>>>(value.device, flag.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 42);
}
