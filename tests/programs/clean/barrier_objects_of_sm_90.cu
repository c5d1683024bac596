//@ compile-flags: --cuda-gpu-arch=sm_90
// From sm_90 on `cuda::barrier` waits with `mbarrier.try_wait`, and looks whether it
// lies in shared memory of the cluster.
#include <cuda/barrier>
#include "check.h"

__global__ void reverse(int* out, int rounds) {
    __shared__ cuda::barrier<cuda::thread_scope_block> written, read;
    __shared__ int slots[64];
    int t = threadIdx.x;
    if (t == 0) {
        init(&written, 64);
        init(&read, 64);
    }
    __syncthreads();
    for (int r = 0; r < rounds; r++) {
        slots[t] = 100 * r + t;
        auto token = written.arrive();
        written.wait(std::move(token));
        out[64 * r + t] = slots[63 - t];
        auto done = read.arrive();
        while (!read.try_wait_for(std::move(done), cuda::std::chrono::nanoseconds(1000)));
    }
}

int main() {
    constexpr int rounds = 4;
    Buffer<int> out(64 * rounds);
    reverse<<<1, 64>>>(out.device, rounds);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64 * rounds; i++) right &= out[i] == 100 * (i / 64) + 63 - i % 64;
    return finish(right);
}
