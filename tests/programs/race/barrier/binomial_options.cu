//@ revisions: racy fixed
//@[racy] findings: loop-back-edge
// Option prices by a binomial tree: each step takes every node's value from two nodes of the step before, in one
// shared array. The racy form has a barrier between reads and writes, but none before the next step.
#include "check.h"

const int STEPS = 64;

__global__ void price(const int* strike, int* prices) {
    __shared__ int value[STEPS + 1];
    int t = threadIdx.x;
    int gain = 2 * t - strike[blockIdx.x];
    value[t] = gain > 0 ? gain : 0;
    if (t == 0) value[STEPS] = 2 * STEPS - strike[blockIdx.x];
    __syncthreads();
    for (int step = STEPS; step > 0; step--) {
        int up = 0, down = 0;
        if (t < step) {
            down = value[t]; //~ A
            up = value[t + 1]; //~ B
        }
        __syncthreads();
        if (t < step) value[t] = (up + down) / 2; //~ C
#ifdef FIXED
        __syncthreads();
#endif
    }
    if (t == 0) prices[blockIdx.x] = value[0];
}
//~ RACE[racy] write-read shared: C B

int main() {
    const int options = 4;
    Buffer<int> strike(options), prices(options);
    for (int i = 0; i < options; i++) strike[i] = 20 * i;
    strike.upload();
    price<<<options, STEPS>>>(strike.device, prices.device);
    SYNC();
    prices.download();
    bool right = true;
    for (int i = 0; i < options; i++) {
        int value[STEPS + 1];
        for (int t = 0; t <= STEPS; t++) value[t] = 2 * t > strike[i] ? 2 * t - strike[i] : 0;
        for (int step = STEPS; step > 0; step--)
            for (int t = 0; t < step; t++) value[t] = (value[t] + value[t + 1]) / 2;
        right &= prices[i] == value[0];
    }
    return finish(right);
}
