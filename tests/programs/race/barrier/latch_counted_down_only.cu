//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// Threads write and count a latch down. Who only counts down has waited for nobody.
#include <cuda/latch>
#include "check.h"

using Latch = cuda::latch<cuda::thread_scope_block>;

__global__ void turn(int* out) {
    __shared__ int slots[64];
    alignas(Latch) __shared__ char place[sizeof(Latch)];
    Latch& all = *reinterpret_cast<Latch*>(place);
    int t = threadIdx.x;
    if (t == 0) new (place) Latch(64);
    __syncthreads();
    slots[t] = t; //~ A
#ifdef RACY
    all.count_down();
#else
    all.arrive_and_wait();
#endif
    out[t] = slots[63 - t]; //~ B
}
//~ RACE[racy] write-read shared block: A B

int main() {
    Buffer<int> out(64);
    turn<<<1, 64>>>(out.device);
    SYNC();
    out.download();
    return finish(out[0] == 63);
}
