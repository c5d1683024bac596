// Each thread adds to elements of its own, whose indices are mixed bits. No prover can know that the indices
// differ, so each sum is checked. The check of its write covers its read.
#include "bench.h"

__global__ void update(int n, int rounds, unsigned* data) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < rounds; k++) {
        unsigned at = ((i ^ (i >> 7)) * 2654435761u + k * 40503u) & (n - 1);
        data[at] += i;
        __syncthreads();
    }
}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int n = bench.size(1024, 256);
    int launches = bench.size(50, 1);
    std::vector<unsigned> zero(n);
    Buffer<unsigned> data(zero);
    bench.time(
        "update", [&] { data.write(zero); },
        [&] {
            for (int l = 0; l < launches; l++) LAUNCH(update, (1), (n), n, 8, data);
        });
    std::vector<unsigned> wanted(n), got = data.read();
    for (unsigned i = 0; i < unsigned(n); i++)
        for (unsigned k = 0; k < 8; k++)
            wanted[((i ^ (i >> 7)) * 2654435761u + k * 40503u) & (n - 1)] += i * launches;
    for (int i = 0; i < n; i++) expect(got[i] == wanted[i], "sum", i);
}
