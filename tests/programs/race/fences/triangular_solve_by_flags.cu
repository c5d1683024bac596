//@ revisions: relaxed early fixed
//@[relaxed] findings: missing-fence
//@[early] findings: early-release
//@[relaxed] stderr-contains: before the read at line 25
// A sparse lower triangular system: a warp solves a row as soon as the flags of the rows that it needs are set. The
// reads stand in a loop, before the write and the flag of the own row.
#ifndef FIXED
#define RACY
#endif
#include <cuda/atomic>
#include "check.h"

using Flag = cuda::atomic_ref<int, cuda::thread_scope_device>;

__global__ void solve(const int* first, const int* columns, const int* right_side, int* x, int* solved, int rows) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    int sum = 0;
    for (int k = first[row] + lane; k < first[row + 1]; k += 32) {
#ifdef RELAXED
        while (!Flag(solved[columns[k]]).load(cuda::memory_order_relaxed)) __nanosleep(20);
#else
        while (!Flag(solved[columns[k]]).load(cuda::memory_order_acquire)) __nanosleep(20);
#endif
        sum += x[columns[k]]; //~ R
    }
    for (int other = 16; other > 0; other /= 2) sum += __shfl_down_sync(0xffffffff, sum, other);
    if (lane == 0) {
#ifdef EARLY
        Flag(solved[row]).store(1, cuda::memory_order_release);
#endif
        x[row] = right_side[row] - sum; //~ W
#ifndef EARLY
        Flag(solved[row]).store(1, cuda::memory_order_release);
#endif
    }
}

int main() {
    const int rows = 24;
    Buffer<int> first(rows + 1), columns(rows * rows), right_side(rows), x(rows), solved(rows);
    int wanted[rows], entries = 0;
    for (int i = 0; i < rows; i++) {
        wanted[i] = right_side[i] = i * i;
        for (int j = i % 3; j < i; j += 5) {
            columns[entries++] = j;
            wanted[i] -= wanted[j];
        }
        first[i + 1] = entries;
    }
    first.upload();
    columns.upload();
    right_side.upload();
    solve<<<rows * 32 / 128, 128>>>(first.device, columns.device, right_side.device, x.device, solved.device, rows);
    SYNC();
    x.download();
    return finish(memcmp(x.host, wanted, sizeof wanted) == 0);
}
//~ RACE[relaxed] write-read global: W R
//~ RACE[early] write-read global: W R
