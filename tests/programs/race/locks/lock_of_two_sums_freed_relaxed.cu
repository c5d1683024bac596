//@ revisions: racy fixed
//@[racy] findings: missing-fence missing-fence
// One lock guards two sums, and is freed by a relaxed store: one mistake. The second kernel has a lock for each sum, and
// only the first one is freed so.
#include <cuda/atomic>
#include "check.h"

using Lock = cuda::atomic<int, cuda::thread_scope_device>;

#ifdef RACY
constexpr auto freed = cuda::memory_order_relaxed;
#else
constexpr auto freed = cuda::memory_order_release;
#endif

__device__ void take(Lock* lock) {
    int open = 0;
    while (!lock->compare_exchange_weak(open, 1, cuda::memory_order_acquire)) open = 0;
}

__global__ void both(Lock* lock, int* sum, int* most) {
    int me = blockIdx.x;
    take(lock);
    *sum += me;                 //~ A
    if (me > *most) *most = me; //~ B
    lock->store(0, freed);
}
//~ RACE[racy] write-read|write-write|read-write global grid: A A
//~ RACE?[racy] write-read|write-write|read-write global grid: B B

__global__ void each(Lock* locks, int* sum, int* most) {
    int me = blockIdx.x;
    take(locks);
    *sum += me;                 //~ C
    locks[0].store(0, freed);
    take(locks + 1);
    if (me > *most) *most = me;
    locks[1].store(0, cuda::memory_order_release);
}
//~ RACE[racy] write-read|write-write|read-write global grid: C C

int main() {
    const int n = 6;
    Buffer<int> sums(4);
    Lock* locks;
    CUDA(cudaMalloc(&locks, 3 * sizeof(Lock)));
    CUDA(cudaMemset(locks, 0, 3 * sizeof(Lock)));
    both<<<n, 1>>>(locks, sums.device, sums.device + 1);
    SYNC();
    each<<<n, 1>>>(locks + 1, sums.device + 2, sums.device + 3);
    SYNC();
    sums.download();
    return finish(sums[0] == 15 && sums[1] == 5 && sums[2] == 15 && sums[3] == 5);
}
