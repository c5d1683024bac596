//@ revisions: racy fixed
//@[racy] findings: wrong-phase|missing-barrier
// The racy program waits for the phase that its first arrival was for, which is
// over at once the second time.
#include <cuda/barrier>
#include "check.h"

using Barrier = cuda::barrier<cuda::thread_scope_block>;

__global__ void reverse(const int* in, int* out) {
    __shared__ int tile[64];
    __shared__ Barrier barrier;
    int t = threadIdx.x;
    if (t == 0) init(&barrier, blockDim.x);
    __syncthreads();
    Barrier::arrival_token first = barrier.arrive();
    Barrier::arrival_token again = first;
    barrier.wait(static_cast<Barrier::arrival_token&&>(first));
    tile[t] = in[t]; //~ A
    Barrier::arrival_token second = barrier.arrive();
#ifdef FIXED
    again = second;
#else
    (void)second;
#endif
    barrier.wait(static_cast<Barrier::arrival_token&&>(again));
    out[t] = tile[63 - t]; //~ B
}
//~ RACE[racy] write-read shared: A B

int main() {
    Buffer<int> in(64), out(64);
    iota(in);
    reverse<<<1, 64>>>(in.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == 63 - i;
    return finish(right);
}
