//@ revisions: racy fixed
//@[racy] findings: missing-fence
// Two blocks hand one value to and fro ten thousand times without any barrier: epochs beyond what a word holds.
#include <cuda/atomic>
#include "check.h"
const unsigned ROUNDS = 10000;
__device__ unsigned turn;
__device__ int value, late;
__global__ void play() {
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> t(turn);
    for (unsigned r = blockIdx.x; r < 2 * ROUNDS; r += 2) {
        while (t.load(cuda::memory_order_acquire) != r) {}
        value += 1;
#ifdef RACY
        if (r == 2 * ROUNDS - 3) { t.store(r + 1, cuda::memory_order_release); late = 1; continue; } //~ W
#else
        if (r == 2 * ROUNDS - 3) late = 1;
#endif
        if (r == 2 * ROUNDS - 2) late += 2; //~ L
        t.store(r + 1, cuda::memory_order_release);
    }
}
//~ RACE[racy] read-write|write-read|write-write global grid: W L
int main() {
    play<<<2, 1>>>();
    SYNC();
    int got;
    CUDA(cudaMemcpyFromSymbol(&got, value, sizeof(got)));
    return finish(got == 2 * ROUNDS);
}
