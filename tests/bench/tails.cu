// Sums of 256 numbers for each block; the last steps sync the half of a warp that takes part.
#include "bench.h"

__global__ void tails(const int* in, int* out) {
    __shared__ int sums[256];
    int t = threadIdx.x;
    sums[t] = in[blockIdx.x * 256 + t];
    __syncthreads();
    for (int s = 128; s >= 16; s /= 2) {
        if (t < s) sums[t] += sums[t + s];
        __syncthreads();
    }
    if (t >= 16) return;
    for (int s = 8; s > 0; s /= 2) {
        if (t < s) sums[t] += sums[t + s];
        __syncwarp(0xffff);
    }
    if (t == 0) out[blockIdx.x] = sums[0];
}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int blocks = bench.size(1024, 5);
    std::vector<int> in;
    for (int i = 0; i < blocks * 256; i++) in.push_back(i % 17);
    Buffer<int> din(in), out(blocks);
    bench.time("tails", [] {}, [&] { LAUNCH(tails, (blocks), (256), din, out); });
    std::vector<int> got = out.read();
    for (int b = 0; b < blocks; b++) {
        int sum = 0;
        for (int i = 0; i < 256; i++) sum += in[b * 256 + i];
        expect(got[b] == sum, "sum", b);
    }
}
