//@ revisions: unread unwritten fixed
//@[unread] findings: missing-fence
//@[unwritten] findings: missing-fence
// A ring buffer from block 0 to block 1: the consumer must see the item, and the producer that it was read.
#include <cuda/atomic>
#include "check.h"
#ifdef UNREAD
constexpr auto READ = cuda::memory_order_relaxed;
#else
constexpr auto READ = cuda::memory_order_release;
#endif
#ifdef UNWRITTEN
constexpr auto WRITTEN = cuda::memory_order_relaxed;
#else
constexpr auto WRITTEN = cuda::memory_order_release;
#endif
__device__ int ring[4];
__device__ unsigned head, tail;
__global__ void run(int* out) {
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> h(head), t(tail);
    if (blockIdx.x == 0) {
        for (unsigned i = 0; i < 20; i++) {
            while (i - t.load(cuda::memory_order_acquire) >= 4) {}
            ring[i % 4] = i; //~ W
            h.store(i + 1, WRITTEN);
        }
    } else {
        int sum = 0;
        for (unsigned i = 0; i < 20; i++) {
            while (h.load(cuda::memory_order_acquire) <= i) {}
            sum += ring[i % 4]; //~ R
            t.store(i + 1, READ);
        }
        *out = sum;
    }
}
//~ RACE[unread] read-write global grid: R W
//~ RACE[unwritten] write-read global grid: W R
int main() {
    Buffer<int> out(1);
    run<<<2, 1>>>(out.device);
    SYNC();
    out.download();
#ifdef FIXED
    return finish(out[0] == 190);
#else
    return 0;
#endif
}
