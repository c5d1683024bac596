//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// One function works on shared and on global memory; only the shared array races.
#include "check.h"

__device__ __noinline__ void swap_halves(int* data, int t, bool wait) {
    int value = data[(t + 32) % 64]; //~ A
    if (wait) __syncthreads();
    data[t] = value; //~ B
}

__global__ void work(int* global) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = t;
    __syncthreads();
#ifdef FIXED
    swap_halves(tile, t, true);
#else
    swap_halves(tile, t, false);
#endif
    __syncthreads();
    swap_halves(global, t, true);
    __syncthreads();
    global[t] += tile[t];
}
//~ RACE[racy] read-write shared block: A B

int main() {
    Buffer<int> global(64);
    iota(global);
    work<<<1, 64>>>(global.device);
    SYNC();
    global.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= global[i] == 2 * ((i + 32) % 64);
    return finish(right);
}
