// Each thread reads one element in each iteration of a loop, and writes one after the loop. The array itself
// holds the indices, so no prover can know that they differ. Only the read of the first iteration is
// checked.
#include "bench.h"

__global__ void rounds(int n, int steps, unsigned* data) {
    unsigned at = data[blockIdx.x * blockDim.x + threadIdx.x];
    unsigned sum = 0;
    for (int k = 0; k < steps; k++) sum = sum * 5 + (data[at] ^ k);
    data[at + n] = sum;
}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int n = bench.size(1 << 18, 256);
    std::vector<unsigned> in(3 * n);
    for (int i = 0; i < n; i++) {
        in[i] = n + ((i ^ (i >> 7)) * 2654435761u & (n - 1));
        in[n + i] = i;
    }
    Buffer<unsigned> data(in);
    bench.time("rounds", [&] { data.write(in); }, [&] { LAUNCH(rounds, (n / 256), (256), n, 16, data); });
    std::vector<unsigned> got = data.read();
    for (int i = 0; i < n; i++) {
        unsigned sum = 0;
        for (int k = 0; k < 16; k++) sum = sum * 5 + (unsigned(i) ^ k);
        expect(got[i + 2 * n] == sum, "sum", i);
    }
}
