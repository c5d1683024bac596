// A matrix product in which each thread keeps 16 sums in registers.
#include "bench.h"

const int TILE = 64, DEPTH = 16, OWN = 4;

__global__ void registers(const float* a, const float* b, float* c, int n) {
    __shared__ float rows[DEPTH][TILE], columns[DEPTH][TILE];
    int x = threadIdx.x % 16 * OWN, y = threadIdx.x / 16 * OWN;
    float sums[OWN][OWN] = {};
    for (int k = 0; k < n; k += DEPTH) {
        for (int i = threadIdx.x; i < DEPTH * TILE; i += 256) {
            rows[i % DEPTH][i / DEPTH] = a[(blockIdx.y * TILE + i / DEPTH) * n + k + i % DEPTH];
            columns[i / TILE][i % TILE] = b[(k + i / TILE) * n + blockIdx.x * TILE + i % TILE];
        }
        __syncthreads();
        for (int d = 0; d < DEPTH; d++)
            for (int i = 0; i < OWN; i++)
                for (int j = 0; j < OWN; j++) sums[i][j] += rows[d][y + i] * columns[d][x + j];
        __syncthreads();
    }
    for (int i = 0; i < OWN; i++)
        for (int j = 0; j < OWN; j++)
            c[(blockIdx.y * TILE + y + i) * n + blockIdx.x * TILE + x + j] = sums[i][j];
}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int n = bench.size(256, TILE);
    std::vector<float> a(n * n), b(n * n);
    for (int i = 0; i < n * n; i++) a[i] = i % 5, b[i] = i % 7;
    Buffer<float> da(a), db(b), dc(n * n);
    bench.time("registers", [] {}, [&] { LAUNCH(registers, (n / TILE, n / TILE), (256), da, db, dc, n); });
    std::vector<float> got = dc.read();
    for (int i = 0; i < n; i++) {
        int j = (i * 37 + 11) % n;
        float sum = 0;
        for (int k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j];
        expect(got[i * n + j] == sum, "element", i * n + j);
    }
}
