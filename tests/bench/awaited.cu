// A product of matrices by tiles, which asynchronous copies fetch and a barrier object waits for.
#include "bench.h"

#include <cuda/barrier>

const int TILE = 16;

__global__ void awaited(int n, const float* a, const float* b, float* c) {
    __shared__ float rows[TILE][TILE], columns[TILE][TILE];
    __shared__ cuda::barrier<cuda::thread_scope_block> loaded;
    int x = threadIdx.x, y = threadIdx.y;
    if (x == 0 && y == 0) init(&loaded, TILE * TILE);
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < n; k += TILE) {
        cuda::memcpy_async(&rows[y][x], &a[(blockIdx.y * TILE + y) * n + k + x], sizeof(float), loaded);
        cuda::memcpy_async(&columns[y][x], &b[(k + y) * n + blockIdx.x * TILE + x], sizeof(float), loaded);
        loaded.arrive_and_wait();
        for (int i = 0; i < TILE; i++) sum += rows[y][i] * columns[i][x];
        loaded.arrive_and_wait();
    }
    c[(blockIdx.y * TILE + y) * n + blockIdx.x * TILE + x] = sum;
}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int n = bench.size(64, 32);
    std::vector<float> a(n * n), b(n * n);
    for (int i = 0; i < n * n; i++) a[i] = i % 5, b[i] = i % 7;
    Buffer<float> da(a), db(b), dc(n * n);
    bench.time("awaited", [] {}, [&] { LAUNCH(awaited, (n / TILE, n / TILE), (TILE, TILE), n, da, db, dc); });
    std::vector<float> got = dc.read();
    for (int i = 0; i < n * n; i++) {
        float sum = 0;
        for (int k = 0; k < n; k++) sum += a[i / n * n + k] * b[k * n + i % n];
        expect(got[i] == sum, "element", i);
    }
}
