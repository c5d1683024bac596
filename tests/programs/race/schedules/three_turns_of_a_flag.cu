//@ revisions: racy fixed
//@ opt: O1
//@[racy] findings: missing-fence
// Two threads pass a value to and fro by a flag that each looks at while it does something else. The way
// back lacks a fence, and is taken only if the threads take turns.
#include "check.h"

__global__ void pass(int* flag, int* value, int* out) {
    int me = blockIdx.x;
    if (threadIdx.x) return;
    for (int i = 0; i < 8; i++) {
        int turn = atomicAdd(flag, 0);
        if (turn % 2 != me || turn > 2) continue;
        __threadfence();
        *value += 1; //~ A
#ifndef FIXED
        if (me == 0)
#endif
            __threadfence();
        atomicExch(flag, turn + 1);
    }
    out[me] = 1;
}
//~ RACE[racy] write-read|write-write global grid: A A

int main() {
    Buffer<int> flag(1), value(1), out(2);
    pass<<<2, 32>>>(flag.device, value.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 1 && out[1] == 1);
}
