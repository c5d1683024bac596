//@ revisions: racy fixed
//@[racy] findings: missing-fence
// Warp 0 hands over to warp 1 of its block at block scope, warp 1 hands on to the
// other block at device scope: order passes through both. The racy form's middle
// link waits, but releases without having acquired.
#include "check.h"

__global__ void chain(int* value, int* near, int* far, int* out) {
    if (threadIdx.x % 32) return;
    int warp = threadIdx.x / 32;
    if (blockIdx.x == 0 && warp == 0) {
        *value = 42; //~ A
        __threadfence_block();
        atomicExch_block(near, 1);
    } else if (blockIdx.x == 0) {
        while (atomicAdd_block(near, 0) == 0) {
        }
#ifdef FIXED
        __threadfence_block();
#endif
        asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(far) : "memory");
    } else if (warp == 0) {
        while (atomicAdd(far, 0) == 0) {
        }
        __threadfence();
        *out = *value; //~ B
    }
}
//~ RACE[racy] write-read global grid: A B

int main() {
    Buffer<int> value(1), near(1), far(1), out(1);
    chain<<<2, 64>>>(value.device, near.device, far.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 42);
}
