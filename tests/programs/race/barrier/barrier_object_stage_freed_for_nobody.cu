//@ revisions: racy fixed
//@[racy] findings: missing-barrier missing-fence
// Consumers arrive when they have read a stage, but the producer does not wait for them before it writes the stage again.
// What they add to a sum at the end tells nobody anything. In the second kernel a count takes the place of the arrival,
// and the producer looks at it: there a fence is missing.
#include <cuda/atomic>
#include <cuda/barrier>
#include "check.h"

using Barrier = cuda::barrier<cuda::thread_scope_block>;
constexpr int TILES = 4, WIDTH = 64;

__global__ void arrivals(const int* in, int* sum) {
    __shared__ int stage[WIDTH];
    __shared__ Barrier full[TILES], free;
    int t = threadIdx.x, mine = 0;
    if (t == 0) {
        init(&free, 96);
        for (Barrier& one : full) init(&one, 96);
    }
    __syncthreads();
    if (t < 32) {
        for (int k = 0; k < TILES; k++) {
#ifdef FIXED
            if (k) free.arrive_and_wait();
#else
            if (k) (void)free.arrive();
#endif
            for (int i = t; i < WIDTH; i += 32) stage[i] = in[k * WIDTH + i]; //~ A
            (void)full[k].arrive();
        }
    } else {
        for (int k = 0; k < TILES; k++) {
            full[k].arrive_and_wait();
            mine += stage[(t * 5) % WIDTH]; //~ B
            if (k + 1 < TILES) (void)free.arrive();
        }
    }
    if (mine) atomicAdd(sum, mine);
}
//~ RACE[racy] read-write|write-read shared: B A

__global__ void counts(const int* in, int* sum) {
    __shared__ int stage[WIDTH], freed;
    int t = threadIdx.x;
    if (t == 0) freed = 0;
    if (t < WIDTH) stage[t] = in[t];
    __syncthreads();
    if (t < 32) {
        cuda::atomic_ref<int, cuda::thread_scope_block> count(freed);
        while (count.load(cuda::memory_order_relaxed) < 64) {}
#ifdef FIXED
        __threadfence_block();
#endif
        for (int i = t; i < WIDTH; i += 32) stage[i] = 0; //~ C
    } else {
        atomicAdd(sum, stage[t - 32]); //~ D
#ifdef FIXED
        __threadfence_block();
#endif
        atomicAdd(&freed, 1);
    }
}
//~ RACE[racy] read-write shared: D C

int main() {
    Buffer<int> in(TILES * WIDTH), sums(2);
    iota(in);
    arrivals<<<1, 96>>>(in.device, sums.device);
    SYNC();
    counts<<<1, 96>>>(in.device, sums.device + 1);
    SYNC();
    sums.download();
    const int n = TILES * WIDTH;
    return finish(sums[0] == n * (n - 1) / 2 && sums[1] == WIDTH * (WIDTH - 1) / 2);
}
