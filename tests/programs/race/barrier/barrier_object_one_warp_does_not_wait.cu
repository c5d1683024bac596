//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// All threads arrive at a `cuda::barrier` in each round. What the others learn there, the
// warp that does not wait does not know.
#include <cuda/barrier>
#include "check.h"
#pragma nv_diag_suppress static_var_with_dynamic_init
using Barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int rounds = 5;

__global__ void reverse(int* out) {
    __shared__ int slots[96];
    __shared__ Barrier wrote, read;
    int t = threadIdx.x;
    if (t == 0) {
        init(&wrote, 96);
        init(&read, 96);
    }
    __syncthreads();
    for (int r = 0; r < rounds; r++) {
        slots[t] = 100 * r + t; //~ A
        auto token = wrote.arrive();
#ifdef RACY
        if (t / 32 != 1)
#endif
        wrote.wait(static_cast<decltype(token)&&>(token));
        out[96 * r + t] = slots[95 - t]; //~ B
        read.arrive_and_wait();
    }
}
//~ RACE[racy] write-read|read-write shared: A B

int main() {
    Buffer<int> out(96 * rounds);
    reverse<<<1, 96>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 96 * rounds; i++) right &= out[i] == 100 * (i / 96) + 95 - i % 96;
    return finish(right);
}
