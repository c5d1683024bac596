// A lock in shared memory, at block scope, guards shared data of one block's warps.
#include "check.h"

__global__ void count(int* out) {
    __shared__ int lock, counter;
    if (threadIdx.x == 0) lock = counter = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        for (int i = 0; i < 3; i++) {
            while (atomicCAS_block(&lock, 0, 1) != 0) {
            }
            __threadfence_block();
            counter += 1;
            __threadfence_block();
            atomicExch_block(&lock, 0);
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = counter;
}

int main() {
    Buffer<int> out(2);
    count<<<2, 128>>>(out.device);
    SYNC();
    out.download();
    return finish(out[0] == 12 && out[1] == 12);
}
