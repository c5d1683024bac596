//@ revisions: racy fixed
//@[racy] findings: missing-fence
// All threads of a block write, thread 0 releases for all of them: that holds only
// after a barrier, which hands their writes to thread 0.
#include "check.h"

__global__ void pass(int* values, int* flag, int* out) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        values[t] = t; //~ A
#ifdef FIXED
        __syncthreads();
#endif
        if (t == 0) {
            __threadfence();
            atomicExch(flag, 1);
        }
    } else {
        if (t == 0) {
            while (atomicAdd(flag, 0) == 0) {
            }
            __threadfence();
        }
        __syncthreads();
        out[t] = values[63 - t]; //~ B
    }
}
//~ RACE[racy] write-read global grid: A B

int main() {
    Buffer<int> values(64), flag(1), out(64);
    pass<<<2, 64>>>(values.device, flag.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == 63 - i;
    return finish(right);
}
