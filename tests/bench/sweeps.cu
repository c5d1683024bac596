// An exclusive scan of each block's elements by up-sweep and down-sweep in shared memory.
#include "bench.h"

const int N = 512;

__global__ void sweeps(int* data) {
    __shared__ int tile[N];
    int t = threadIdx.x;
    int* own = data + blockIdx.x * N;
    tile[2 * t] = own[2 * t];
    tile[2 * t + 1] = own[2 * t + 1];
    int offset = 1;
    for (int d = N / 2; d > 0; d /= 2, offset *= 2) {
        __syncthreads();
        if (t < d) tile[offset * (2 * t + 2) - 1] += tile[offset * (2 * t + 1) - 1];
    }
    if (t == 0) tile[N - 1] = 0;
    for (int d = 1; d < N; d *= 2) {
        offset /= 2;
        __syncthreads();
        if (t < d) {
            int left = offset * (2 * t + 1) - 1, right = offset * (2 * t + 2) - 1;
            int kept = tile[left];
            tile[left] = tile[right];
            tile[right] += kept;
        }
    }
    __syncthreads();
    own[2 * t] = tile[2 * t];
    own[2 * t + 1] = tile[2 * t + 1];
}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int blocks = bench.size(2048, 4);
    std::vector<int> in(blocks * N);
    for (size_t i = 0; i < in.size(); i++) in[i] = i % 5;
    Buffer<int> data(in);
    bench.time("sweeps", [&] { data.write(in); }, [&] { LAUNCH(sweeps, (blocks), (N / 2), data); });
    std::vector<int> got = data.read();
    for (int b = 0; b < blocks; b++)
        for (int i = b * N, sum = 0; i < (b + 1) * N; sum += in[i], i++) expect(got[i] == sum, "sum", i);
}
