//@ revisions: racy fixed
//@[racy] findings: early-release
// Warps that consume arrive at `empty` before they have read the stage, so the producers may fill it again.
#include <cuda/barrier>
#include "check.h"

using bar = cuda::barrier<cuda::thread_scope_block>;

__global__ void ring(const int* in, int* out, int n) {
    __shared__ int stage[2][32];
    __shared__ bar full[2], empty[2];
    if (threadIdx.x == 0)
        for (int s = 0; s < 2; s++) {
            init(&full[s], 64);
            init(&empty[s], 64);
        }
    __syncthreads();
    int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        for (int i = 0; i < n; i++) {
            empty[i % 2].arrive_and_wait();
            stage[i % 2][lane] = in[i * 32 + lane]; //~ W
            (void)full[i % 2].arrive();
        }
    } else {
        for (int s = 0; s < 2; s++) (void)empty[s].arrive();
        for (int i = 0; i < n; i++) {
            full[i % 2].arrive_and_wait();
#ifdef RACY
            (void)empty[i % 2].arrive();
#endif
            out[i * 32 + lane] = stage[i % 2][31 - lane]; //~ R
#ifdef FIXED
            (void)empty[i % 2].arrive();
#endif
        }
    }
}
//~ RACE[racy] read-write|write-read shared: R W

int main() {
    const int n = 16;
    Buffer<int> in(n * 32), out(n * 32);
    iota(in);
    ring<<<1, 64>>>(in.device, out.device, n);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < n; i++)
        for (int lane = 0; lane < 32; lane++) right &= out[i * 32 + lane] == i * 32 + 31 - lane;
#ifdef FIXED
    return finish(right);
#else
    return 0;
#endif
}
