//@ revisions: racy fixed
//@[racy] findings: divergence
// All lanes of a warp name a mask of half of them. CUDA leaves undefined what the others get.
#include "check.h"

__global__ void exchange(unsigned* out) {
    unsigned lane = threadIdx.x;
#ifdef FIXED
    unsigned mask = 0xffffffff;
#else
    unsigned mask = 0x0000ffff;
#endif
    out[lane] = __shfl_up_sync(mask, lane, 16); //~ A
}
//~ DIVERGENCE[racy] caller-not-in-mask: A

int main() {
    Buffer<unsigned> out(32);
    exchange<<<1, 32>>>(out.device);
    SYNC();
    out.download();
    // Lanes below 16 have no lane to read from. The runtime gives a lane that its mask leaves out its own value.
    bool right = true;
    for (unsigned i = 0; i < 32; i++) {
#ifdef FIXED
        right &= out[i] == i % 16;
#else
        right &= out[i] == i;
#endif
    }
    return finish(right);
}
