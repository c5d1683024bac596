//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// Three warps read in three different ways, then a fourth one writes, after it has
// met two of them. The reader that it did not meet is neither first nor last.
#include "check.h"

__device__ void meet(int id) { asm volatile("bar.sync %0, 64;" ::"r"(id) : "memory"); }

__global__ void update(int* word, int* out) {
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (warp == 0) {
        out[lane] = word[lane];
        meet(1);
    } else if (warp == 1) {
        out[32 + lane] = word[lane] + 1; //~ R
#ifdef FIXED
        meet(2);
#endif
    } else if (warp == 2) {
        out[64 + lane] = word[lane] + 2;
        meet(3);
    } else {
        meet(1);
#ifdef FIXED
        meet(2);
#endif
        meet(3);
        word[lane] = lane; //~ W
    }
}
//~ RACE[racy] read-write global block: R W

int main() {
    Buffer<int> word(32), out(96);
    update<<<1, 128>>>(word.device, out.device);
    SYNC();
    out.download();
    word.download();
    bool right = true;
    for (int i = 0; i < 32; i++)
        right &= word[i] == i && out[i] == 0 && out[32 + i] == 1 && out[64 + i] == 2;
    return finish(right);
}
