// A product of matrices by tiles. The block that is done last sums up what the blocks found, behind fences.
#include "bench.h"

const int TILE = 16;

__global__ void lastblock(const float* a, const float* b, float* c, float* largest, float* result,
                          unsigned* done, int n) {
    __shared__ float as[TILE][TILE], bs[TILE][TILE], sums[TILE * TILE];
    __shared__ bool last;
    int x = threadIdx.x, y = threadIdx.y, t = y * TILE + x;
    int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    int block = blockIdx.y * gridDim.x + blockIdx.x, blocks = gridDim.x * gridDim.y;
    float sum = 0;
    for (int k = 0; k < n; k += TILE) {
        as[y][x] = a[row * n + k + x];
        bs[y][x] = b[(k + y) * n + column];
        __syncthreads();
        for (int i = 0; i < TILE; i++) sum += as[y][i] * bs[i][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
    sums[t] = sum;
    __syncthreads();
    for (int s = TILE * TILE / 2; s > 0; s /= 2) {
        if (t < s) sums[t] = fmaxf(sums[t], sums[t + s]);
        __syncthreads();
    }
    if (t == 0) {
        largest[block] = sums[0];
        __threadfence();
        last = atomicAdd(done, 1) == blocks - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    float most = 0;
    for (int i = t; i < blocks; i += TILE * TILE) most = fmaxf(most, largest[i]);
    sums[t] = most;
    __syncthreads();
    if (t == 0) {
        for (int i = 1; i < TILE * TILE; i++) most = fmaxf(most, sums[i]);
        *result = most;
        *done = 0;
    }
}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int n = bench.size(256, 32), tiles = n / TILE;
    Random random;
    std::vector<float> a, b;
    for (int i = 0; i < n * n; i++) {
        a.push_back(random.next() % 8);
        b.push_back(random.next() % 8);
    }
    Buffer<float> da(a), db(b), c(a.size()), largest(tiles * tiles), result(1);
    Buffer<unsigned> done(std::vector<unsigned>(1));
    bench.time(
        "lastblock", [] {},
        [&] { LAUNCH(lastblock, (tiles, tiles), (TILE, TILE), da, db, c, largest, result, done, n); });
    std::vector<float> got = c.read();
    float most = 0;
    for (int row = 0; row < n; row++)
        for (int column = 0; column < n; column++) {
            float sum = 0;
            for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + column];
            expect(got[row * n + column] == sum, "place", row * n + column);
            most = std::max(most, sum);
        }
    expect(result.read()[0] == most, "largest", 0);
}
