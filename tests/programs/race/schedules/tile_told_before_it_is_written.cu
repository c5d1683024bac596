//@ revisions: racy fixed
//@[racy] findings: missing-fence
//@[racy] wrong-finding: the fences are there, and the value that is told is one too large
// Each block computes a row of a table, tile by tile, from the row above, and tells the next block how many tiles it
// may read. The racy one tells of a tile too many. The block above never waits and is ahead of the others, unless it
// is slow after it has told.
#include "check.h"
#include <cuda/atomic>

const int TILE = 32, TILES = 24, ROWS = 3, N = TILE * TILES;

__global__ void paths(int* table, int* told) {
    int row = blockIdx.x + 1, t = threadIdx.x;
    __shared__ int sums[TILE];
    __shared__ int before;
    if (t == 0) before = 0;
    for (int tile = 0; tile < TILES; tile++) {
        if (row > 1 && t == 0) {
            cuda::atomic_ref<int, cuda::thread_scope_device> above(told[row - 1]);
            while (above.load(cuda::memory_order_acquire) <= tile) {}
        }
        __syncthreads();
        int at = tile * TILE + t;
        sums[t] = table[(row - 1) * N + at]; //~ R
        for (int step = 1; step < TILE; step *= 2) {
            __syncthreads();
            int left = t >= step ? sums[t - step] : 0;
            __syncthreads();
            sums[t] += left;
        }
        table[row * N + at] = before + sums[t]; //~ W
        __syncthreads();
        if (t == TILE - 1) before += sums[t];
        if (t == 0) {
            cuda::atomic_ref<int, cuda::thread_scope_device> mine(told[row]);
#ifdef FIXED
            mine.store(tile + 1, cuda::memory_order_release);
#else
            mine.store(tile + 2, cuda::memory_order_release);
#endif
        }
    }
}
//~ RACE[racy] read-write|write-read global: W R

int main() {
    Buffer<int> table((ROWS + 1) * N), told(ROWS + 1);
    for (int i = 0; i < N; i++) table[i] = 1;
    table.upload();
    paths<<<ROWS, TILE>>>(table.device, told.device);
    SYNC();
    table.download();
    bool right = true;
    for (int i = 0; i < N; i++) right &= table[N + i] == i + 1 && table[2 * N + i] == (i + 1) * (i + 2) / 2;
    return finish(right);
}
