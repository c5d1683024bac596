//@ revisions: racy fixed
//@[racy] findings: missing-barrier missing-barrier
//@[racy] fixes: 1
// Blocks take rows from a counter until none is left. A barrier is missing before the number is read. In the second
// kernel some threads leave the loop behind its last barrier: the others must not wait for them at the next one.
#include "check.h"

__global__ void sums(const int* data, int* out, int* next, int rows) {
    __shared__ int row, total;
    for (;;) {
        if (threadIdx.x == 0) {
            row = atomicAdd(next, 1);              //~ A
            total = 0;                             //~ B
        }
#ifdef FIXED
        __syncthreads();
#endif
        int mine = row;                            //~ C
        if (mine >= rows) return;
        atomicAdd(&total, data[mine * blockDim.x + threadIdx.x]); //~ D
        __syncthreads();
        if (threadIdx.x == 0) out[mine] = total;
        __syncthreads();
    }
}
//~ RACE[racy] write-read shared: A C
//~ RACE?[racy] write-atomic shared: B D

__global__ void ends(const int* last, int* out, int most) {
    __shared__ int round;
    int k = 0;
    for (;;) {
        if (threadIdx.x == 0) round = k;           //~ E
#ifdef FIXED
        __syncthreads();
#endif
        int now = round;                           //~ F
        if (now >= most) return;
        out[now * blockDim.x + threadIdx.x] = now;
        __syncthreads();
        if (k++ == last[threadIdx.x]) break;
    }
}
//~ RACE[racy] write-read shared: E F

int main() {
    const int rows = 7, threads = 64;
    Buffer<int> data(rows * threads), out(rows), next(1), last(threads), rounds(3 * threads);
    iota(data);
    sums<<<2, threads>>>(data.device, out.device, next.device, rows);
    SYNC();
    for (int i = 0; i < threads; i++) last[i] = 2;
    last.upload();
    ends<<<1, threads>>>(last.device, rounds.device, 3);
    SYNC();
    out.download();
    rounds.download();
    bool right = true;
    for (int r = 0; r < rows; r++) right &= out[r] == threads * (r * threads) + threads * (threads - 1) / 2;
    for (int i = 0; i < 3 * threads; i++) right &= rounds[i] == i / threads;
    return finish(right);
}
