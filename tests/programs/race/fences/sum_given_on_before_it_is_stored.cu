//@ revisions: racy fixed
//@[racy] findings: early-release
// Each block waits for the sum of the one before it, and gives its own one on. It sets its flag before it stores the
// sum: no fence is missing.
#include <cuda/atomic>
#include "check.h"

using Flag = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;

__global__ void chain(const int* in, int* sums, unsigned* ready) {
    if (threadIdx.x != 0) return;
    int before = 0;
    if (blockIdx.x > 0) {
        Flag flag(ready[blockIdx.x - 1]);
        while (flag.load(cuda::memory_order_acquire) == 0) {
        }
        before = sums[blockIdx.x - 1]; //~ B
    }
    Flag mine(ready[blockIdx.x]);
#ifdef RACY
    mine.store(1, cuda::memory_order_release);
    sums[blockIdx.x] = before + in[blockIdx.x]; //~ A
#else
    sums[blockIdx.x] = before + in[blockIdx.x];
    mine.store(1, cuda::memory_order_release);
#endif
}
//~ RACE[racy] write-read|read-write global grid: A B

int main() {
    Buffer<int> in(8), sums(8);
    Buffer<unsigned> ready(8);
    iota(in);
    chain<<<8, 32>>>(in.device, sums.device, ready.device);
    SYNC();
    sums.download();
    bool right = true;
    for (int i = 0; i < 8; i++) right &= sums[i] == i * (i + 1) / 2;
    return finish(right);
}
