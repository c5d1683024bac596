//@ revisions: racy fixed
//@[racy] findings: missing-fence
// A flag of relaxed atomics orders nothing; the program vouches for it. An
// annotation of another address orders nothing either.
#include <gpurace/gpurace.h>
#include "check.h"

__global__ void pass(int* data, int* flag, int* out) {
    if (blockIdx.x == 0) {
        if (threadIdx.x == 0) {
            data[0] = 42; //~ WRITE
            GPURACE_HAPPENS_BEFORE(flag);
            atomicExch(flag, 1);
        }
    } else if (threadIdx.x == 0) {
        while (atomicAdd(flag, 0) == 0) {}
#ifdef FIXED
        GPURACE_HAPPENS_AFTER(flag);
#else
        GPURACE_HAPPENS_AFTER(flag + 1);
#endif
        out[0] = data[0]; //~ READ
    }
}

int main() {
    Buffer<int> data(1), flag(2), out(1);
    pass<<<2, 32>>>(data.device, flag.device, out.device);
    SYNC();
    return finish(true);
}
//~ RACE[racy] write-read global: WRITE READ
