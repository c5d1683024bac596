// A sparse matrix of five diagonals times a vector, as a stencil. Each block loads its part of the vector
// and the halo into shared memory.
#include "bench.h"

const int BLOCK = 128, HALO = 2;

__global__ void diagonals(const float* matrix, const float* x, float* y, int n) {
    __shared__ float part[BLOCK + 2 * HALO];
    int t = threadIdx.x, row = blockIdx.x * BLOCK + t;
    part[HALO + t] = x[row];
    if (t < HALO) {
        part[t] = row >= HALO ? x[row - HALO] : 0;
        part[HALO + BLOCK + t] = row + BLOCK < n ? x[row + BLOCK] : 0;
    }
    __syncthreads();
    float sum = 0;
    for (int d = 0; d < 2 * HALO + 1; d++) sum += matrix[d * n + row] * part[t + d];
    y[row] = sum;
}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int n = bench.size(1 << 20, 1 << 10);
    std::vector<float> matrix(5 * n), x(n);
    for (int i = 0; i < 5 * n; i++) matrix[i] = i / n + 1;
    for (int i = 0; i < n; i++) x[i] = i % 7;
    Buffer<float> dmatrix(matrix), dx(x), dy(n);
    bench.time("diagonals", [] {}, [&] { LAUNCH(diagonals, (n / BLOCK), (BLOCK), dmatrix, dx, dy, n); });
    std::vector<float> got = dy.read();
    for (int i = 0; i < n; i++) {
        float sum = 0;
        for (int d = 0; d < 5; d++)
            if (i + d >= 2 && i + d - 2 < n) sum += (d + 1) * x[i + d - 2];
        expect(got[i] == sum, "y", i);
    }
}
