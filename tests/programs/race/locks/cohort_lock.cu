//@ revisions: racy fixed
//@[racy] findings: missing-fence
// A lock of the block inside of a lock of the device: who takes both is ordered after all who held
// the outer one. The racy form opens the outer lock with a fence of the block.
#include <cuda/atomic>
#include "check.h"
__device__ unsigned outer;
__device__ int counter;
__global__ void count() {
    __shared__ unsigned inner;
    if (threadIdx.x == 0) inner = 0;
    __syncthreads();
    cuda::atomic_ref<unsigned, cuda::thread_scope_block> in(inner);
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> out(outer);
    if (threadIdx.x % 32 == 0) {
        while (in.exchange(1, cuda::memory_order_acquire)) {}
        while (out.exchange(1, cuda::memory_order_acquire)) {}
        counter += 1; //~ C
#ifdef FIXED
        out.store(0, cuda::memory_order_release);
#else
        cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_block);
        out.store(0, cuda::memory_order_relaxed);
#endif
        in.store(0, cuda::memory_order_release);
    }
}
//~ RACE[racy] read-write|write-write|write-read global grid: C C
int main() {
    count<<<6, 96>>>();
    SYNC();
    int got;
    CUDA(cudaMemcpyFromSymbol(&got, counter, sizeof(got)));
    return finish(got == 18);
}
