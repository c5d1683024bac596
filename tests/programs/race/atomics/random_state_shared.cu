//@ revisions: racy fixed
//@[racy] findings: missing-atomic
// A generator of random numbers with one state for all threads of a block.
#include "check.h"

__device__ unsigned draw(unsigned* state) {
    unsigned s = *state; //~ R
    s ^= s << 13;
    s ^= s >> 17;
    s ^= s << 5;
    *state = s; //~ W
    return s;
}

__global__ void throw_dice(unsigned* states, int* counts) {
#ifdef FIXED
    unsigned* state = &states[blockIdx.x * blockDim.x + threadIdx.x];
#else
    unsigned* state = &states[blockIdx.x];
#endif
    for (int i = 0; i < 4; i++) atomicAdd(&counts[draw(state) % 6], 1);
}
//~ RACE[racy] write-read|read-write global: W R
//~ RACE?[racy] write-write global: W W

int main() {
    Buffer<unsigned> states(128);
    Buffer<int> counts(6);
    for (int i = 0; i < 128; i++) states[i] = 1 + i;
    states.upload();
    throw_dice<<<2, 64>>>(states.device, counts.device);
    SYNC();
    counts.download();
    int sum = 0;
    for (int i = 0; i < 6; i++) sum += counts[i];
    return finish(sum == 512);
}
