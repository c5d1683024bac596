//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// Two `cuda::barrier`s hand a buffer from a producing warp to a consuming one and
// back, many times. Given back before it is read, it is written while it is read.
#include <cuda/barrier>
#include "check.h"
using Barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int rounds = 20;

__device__ void produce(Barrier& empty, Barrier& full, int* slots, int t) {
    for (int r = 0; r < rounds; r++) {
        empty.arrive_and_wait();
        slots[t] = 100 * r + t; //~ A
        (void)full.arrive();
    }
}

__device__ void consume(Barrier& empty, Barrier& full, int* slots, int* out, int t) {
    (void)empty.arrive();
    for (int r = 0; r < rounds; r++) {
        full.arrive_and_wait();
#ifdef RACY
        if (r + 1 < rounds) (void)empty.arrive();
#endif
        out[32 * r + t] = slots[31 - t]; //~ B
#ifdef FIXED
        if (r + 1 < rounds) (void)empty.arrive();
#endif
    }
}

#pragma nv_diag_suppress static_var_with_dynamic_init
__global__ void hand_over(int* out) {
    __shared__ Barrier empty, full;
    __shared__ int slots[32];
    int t = threadIdx.x % 32;
    if (threadIdx.x == 0) {
        init(&empty, 64);
        init(&full, 64);
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        produce(empty, full, slots, t);
    } else {
        consume(empty, full, slots, out, t);
    }
}
//~ RACE[racy] read-write shared block: B A

int main() {
    Buffer<int> out(32 * rounds);
    hand_over<<<1, 64>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 32 * rounds; i++) right &= out[i] == 100 * (i / 32) + 31 - i % 32;
    return finish(right);
}
