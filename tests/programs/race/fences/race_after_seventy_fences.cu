//@ revisions: racy fixed
//@[racy] findings: missing-fence
// Each block fences 70 times among its own accesses; the last hand-over to the
// other block lacks the acquire.
#include "check.h"

__global__ void relay(int* own, int* value, int* flag, int* out) {
    if (threadIdx.x) return;
    for (int i = 0; i < 70; i++) {
        own[blockIdx.x] += i;
        __threadfence();
    }
    if (blockIdx.x == 0) {
        *value = 42; //~ A
        __threadfence();
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) {
        }
#ifdef FIXED
        __threadfence();
#endif
        *out = *value; //~ B
    }
}
//~ RACE[racy] write-read global grid: A B

int main() {
    Buffer<int> own(2), value(1), flag(1), out(1);
    relay<<<2, 32>>>(own.device, value.device, flag.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 42);
}
