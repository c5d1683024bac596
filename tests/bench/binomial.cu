// Option prices by a binomial tree in one shared array. A step computes each node's value from two nodes
// of the step before.
#include "bench.h"

const int STEPS = 128;

__global__ void binomial(const int* strike, int* prices) {
    __shared__ int value[STEPS + 1];
    int t = threadIdx.x;
    int gain = 2 * t - strike[blockIdx.x];
    value[t] = gain > 0 ? gain : 0;
    if (t == 0) value[STEPS] = 2 * STEPS - strike[blockIdx.x];
    __syncthreads();
    for (int step = STEPS; step > 0; step--) {
        int up = 0, down = 0;
        if (t < step) {
            down = value[t];
            up = value[t + 1];
        }
        __syncthreads();
        if (t < step) value[t] = (up + down) / 2;
        __syncthreads();
    }
    if (t == 0) prices[blockIdx.x] = value[0];
}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int options = bench.size(1024, 4);
    std::vector<int> strike(options);
    for (int i = 0; i < options; i++) strike[i] = 20 * i % 200;
    Buffer<int> dstrike(strike), dprices(options);
    bench.time("binomial", [] {}, [&] { LAUNCH(binomial, (options), (STEPS), dstrike, dprices); });
    std::vector<int> got = dprices.read();
    for (int i = 0; i < options; i++) {
        std::vector<int> value(STEPS + 1);
        for (int t = 0; t <= STEPS; t++) value[t] = std::max(0, 2 * t - strike[i]);
        value[STEPS] = 2 * STEPS - strike[i];
        for (int step = STEPS; step > 0; step--)
            for (int t = 0; t < step; t++) value[t] = (value[t] + value[t + 1]) / 2;
        expect(got[i] == value[0], "price", i);
    }
}
