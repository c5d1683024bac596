//@ revisions: racy fixed
//@[racy] findings: missing-fence
// One thread takes the device's lock for its block and hands it on inside, at block scope; the last one opens it.
// What the earlier holders did has to reach the next block: by cumulativity it does, if the hand-over orders.
#include <cuda/atomic>
#include "check.h"
#ifdef FIXED
constexpr auto PASS = cuda::memory_order_release;
#else
constexpr auto PASS = cuda::memory_order_relaxed;
#endif
__device__ unsigned lock;
__device__ int counter[2];
__global__ void count() {
    __shared__ unsigned turn;
    if (threadIdx.x == 0) turn = 0;
    __syncthreads();
    if (threadIdx.x % 32) return;
    unsigned warp = threadIdx.x / 32, warps = blockDim.x / 32;
    cuda::atomic_ref<unsigned, cuda::thread_scope_block> next(turn);
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> l(lock);
    while (next.load(cuda::memory_order_acquire) != warp) {}
    if (warp == 0) while (l.exchange(1, cuda::memory_order_acquire)) {}
    counter[0] += 1; //~ C
    if (warp == warps - 1) l.store(0, cuda::memory_order_release);
    else next.store(warp + 1, PASS);
}
//~ RACE[racy] read-write|write-write|write-read global: C C
int main() {
    count<<<5, 128>>>();
    SYNC();
    int got;
    CUDA(cudaMemcpyFromSymbol(&got, counter, sizeof(got)));
    return finish(got == 20);
}
