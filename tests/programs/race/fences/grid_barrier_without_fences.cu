//@ revisions: racy fixed
//@[racy] findings: missing-fence
// A sense-reversing grid barrier of atomics alone: it makes blocks wait, and
// orders nothing, as legacy atomics are relaxed.
#include "check.h"

__device__ void wait_for_grid(unsigned* count, unsigned* sense) {
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned old = atomicAdd(sense, 0);
#ifdef FIXED
        __threadfence();
#endif
        if (atomicInc(count, gridDim.x - 1) == gridDim.x - 1) {
#ifdef FIXED
            __threadfence();  // whoever opens the barrier passes on what it has learnt of the others
#endif
            atomicAdd(sense, 1);
        } else
            while (atomicAdd(sense, 0) == old) {
            }
#ifdef FIXED
        __threadfence();
#endif
    }
    __syncthreads();
}

__global__ void rotate(int* data, unsigned* state, int n, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < rounds; k++) {
        int value = data[(i + blockDim.x) % n]; //~ A
        wait_for_grid(&state[0], &state[1]);
        data[i] = value; //~ B
        wait_for_grid(&state[0], &state[1]);
    }
}
//~ RACE[racy] read-write global grid: A B

int main() {
    const int n = 96;
    Buffer<int> data(n);
    Buffer<unsigned> state(2);
    iota(data);
    rotate<<<3, 32>>>(data.device, state.device, n, 4);
    SYNC();
    data.download();
    bool right = true;
    for (int i = 0; i < n; i++) right &= data[i] == (i + 4 * 32) % n;
    return finish(right);
}
