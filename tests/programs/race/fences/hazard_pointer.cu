//@ revisions: racy fixed
//@[racy] findings: missing-fence
// A reader announces what it reads and looks again; the writer replaces it and overwrites the old one when nobody
// announces it. The reader's withdrawal has to release.
#include <cuda/atomic>
#include "check.h"
#ifdef RACY
constexpr auto WITHDRAW = cuda::memory_order_relaxed;
#else
constexpr auto WITHDRAW = cuda::memory_order_release;
#endif
__device__ int nodes[2] = {1, 2};
__device__ unsigned current = 1, hazard, reads;
using Ref = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
__global__ void run(int* out) {
    if (blockIdx.x == 1) {
        unsigned p;
        do {
            p = Ref(current).load(cuda::memory_order_acquire);
            Ref(hazard).store(p, cuda::memory_order_relaxed);
            cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
        } while (Ref(current).load(cuda::memory_order_acquire) != p);
        *out = nodes[p - 1]; //~ R
        Ref(reads).store(1, cuda::memory_order_relaxed);
        Ref(hazard).store(0, WITHDRAW);
    } else {
        while (Ref(reads).load(cuda::memory_order_relaxed) == 0) {}
        Ref(current).store(2, cuda::memory_order_release);
        cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
        while (Ref(hazard).load(cuda::memory_order_acquire) == 1) {}
        nodes[0] = -1; //~ W
    }
}
//~ RACE[racy] read-write global grid: R W
int main() {
    Buffer<int> out(1);
    run<<<2, 1>>>(out.device);
    SYNC();
    out.download();
    return finish(out[0] == 1);
}
