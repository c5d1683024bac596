//@ revisions: racy fixed
//@[racy] findings: missing-fence
// A lock by compare_exchange: success has to acquire, the store that opens it to release.
#include <cuda/atomic>
#include "check.h"
#ifdef RACY
constexpr auto TAKE = cuda::memory_order_relaxed;
#else
constexpr auto TAKE = cuda::memory_order_acquire;
#endif
__global__ void count(unsigned* lock, int* counter) {
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> l(*lock);
    if (threadIdx.x == 0) {
        unsigned expected = 0;
        while (!l.compare_exchange_weak(expected, 1, TAKE, cuda::memory_order_relaxed)) expected = 0;
        *counter += 1; //~ C
        l.store(0, cuda::memory_order_release);
    }
}
//~ RACE[racy] read-write|write-write|write-read global grid: C C
int main() {
    Buffer<unsigned> lock(1); Buffer<int> counter(1);
    count<<<16, 32>>>(lock.device, counter.device);
    SYNC();
    counter.download();
    return finish(counter[0] == 16);
}
