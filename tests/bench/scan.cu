// An inclusive scan of each block's elements. In each step a thread adds the element that lies a stride
// before its own, and the stride doubles (Hillis and Steele, 1986).
#include "bench.h"

const int N = 256;

__global__ void scan(int* data) {
    __shared__ int tile[N];
    int t = threadIdx.x;
    tile[t] = data[blockIdx.x * N + t];
    __syncthreads();
    for (int stride = 1; stride < N; stride *= 2) {
        int before = t >= stride ? tile[t - stride] : 0;
        __syncthreads();
        tile[t] += before;
        __syncthreads();
    }
    data[blockIdx.x * N + t] = tile[t];
}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int blocks = bench.size(4096, 4);
    std::vector<int> in(blocks * N);
    for (size_t i = 0; i < in.size(); i++) in[i] = i % 5;
    Buffer<int> data(in);
    bench.time("scan", [&] { data.write(in); }, [&] { LAUNCH(scan, (blocks), (N), data); });
    std::vector<int> got = data.read();
    for (int b = 0; b < blocks; b++)
        for (int i = b * N, sum = 0; i < (b + 1) * N; i++) expect(got[i] == (sum += in[i]), "sum", i);
}
