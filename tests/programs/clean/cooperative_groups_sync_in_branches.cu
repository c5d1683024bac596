// Both branches come to the barrier of the block's group: cooperative groups ask
// that all threads call it, not that they do so at one place.
#include <cooperative_groups.h>
#include "check.h"
namespace cg = cooperative_groups;

__global__ void swap_halves(int* out) {
    __shared__ int slots[64];
    cg::thread_block block = cg::this_thread_block();
    int t = block.thread_rank();
    if (t < 32) {
        slots[t] = t;
        block.sync();
    } else {
        slots[t] = 2 * t;
        block.sync();
    }
    out[t] = slots[t ^ 32];
}

int main() {
    Buffer<int> out(64);
    swap_halves<<<1, 64>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int t = 0; t < 64; t++) right &= out[t] == (t < 32 ? 2 * (t ^ 32) : t ^ 32);
    return finish(right);
}
