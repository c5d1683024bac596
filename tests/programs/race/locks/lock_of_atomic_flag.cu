//@ revisions: racy fixed
//@[racy] findings: missing-fence
// A lock made of a flag of libcu++. It is set with acquire, and has to be cleared with release.
#include <cuda/std/atomic>
#include "check.h"

__device__ cuda::std::atomic_flag taken;

__global__ void count(int* counter) {
    if (threadIdx.x != 0) return;
    while (taken.test_and_set(cuda::std::memory_order_acquire)) {}
    *counter = *counter + 1; //~ A
#ifdef RACY
    taken.clear(cuda::std::memory_order_relaxed);
#else
    taken.clear(cuda::std::memory_order_release);
#endif
}
//~ RACE[racy] write-write global grid: A A
//~ RACE?[racy] write-read global grid: A A

int main() {
    Buffer<int> counter(1);
    count<<<8, 32>>>(counter.device);
    SYNC();
    counter.download();
    return finish(counter[0] == 8);
}
