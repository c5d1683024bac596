// Block scope is wide enough for shared memory, and for a word of one block.
#include "check.h"

__global__ void count(int* counters) {
    __shared__ int bins[4];
    int t = threadIdx.x;
    if (t < 4) bins[t] = 0;
    __syncthreads();
    atomicAdd_block(&bins[t % 4], 1);
    atomicAdd_block(&counters[4 * blockIdx.x + t % 4], 1);
    __syncthreads();
    if (t < 4) counters[4 * blockIdx.x + t] += bins[t];
}

int main() {
    Buffer<int> counters(12);
    count<<<3, 64>>>(counters.device);
    SYNC();
    counters.download();
    bool right = true;
    for (int i = 0; i < 12; i++) right &= counters[i] == 32;
    return finish(right);
}
