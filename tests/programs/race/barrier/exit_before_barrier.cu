//@ revisions: racy fixed
//@[racy] known-miss: a thread that has ended counts as arrived, and as ordered by the barrier
// Half of the threads write and leave before the barrier. CUDA's guide promises the
// others to see what was done by threads that reached it, and these never do.
#include "check.h"

__global__ void handover(int* out) {
    __shared__ int slots[64];
    int t = threadIdx.x;
    slots[t] = t; //~ A
#ifdef RACY
    if (t >= 32) return;
#endif
    __syncthreads();
    if (t < 32) out[t] = slots[t + 32]; //~ B
}
//~ RACE[racy] write-read shared block: A B

int main() {
    Buffer<int> out(32);
    handover<<<1, 64>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 32; i++) right &= out[i] == i + 32;
    return finish(right);
}
