//@ revisions: racy fixed
//@[racy] findings: missing-fence
// Lane 0 releases what all lanes of its warp wrote: after `__syncwarp`, not before.
#include "check.h"

__global__ void pass(int* values, int* flag, int* out) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        values[t] = 2 * t; //~ A
#ifdef FIXED
        __syncwarp();
#endif
        if (t == 0) {
            __threadfence();
            atomicExch(flag, 1);
        }
    } else if (t == 0) {
        while (atomicAdd(flag, 0) == 0) {
        }
        __threadfence();
        int sum = 0;
        for (int i = 0; i < 32; i++) sum += values[i]; //~ B
        *out = sum;
    }
}
//~ RACE[racy] write-read global grid: A B

int main() {
    Buffer<int> values(32), flag(1), out(1);
    pass<<<2, 32>>>(values.device, flag.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 31 * 32);
}
