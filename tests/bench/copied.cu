// Sums of neighbours, from tiles that asynchronous copies fetch while the tile before is worked on.
#include "bench.h"
#include <cuda_pipeline.h>

const int TILE = 256;

__global__ void copied(const int* in, int* out, int tiles) {
    __shared__ int tile[2][TILE];
    int t = threadIdx.x, first = blockIdx.x * tiles;
    __pipeline_memcpy_async(&tile[0][t], &in[first * TILE + t], sizeof(int));
    __pipeline_commit();
    for (int i = 0; i < tiles; i++) {
        if (i + 1 < tiles)
            __pipeline_memcpy_async(&tile[(i + 1) % 2][t], &in[(first + i + 1) * TILE + t], sizeof(int));
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        int sum = 0;
        for (int k = 0; k < 16; k++) sum += tile[i % 2][(t + k) % TILE];
        out[(first + i) * TILE + t] = sum;
        __syncthreads();
    }
}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int tiles = 8, blocks = bench.size(128, 3), n = blocks * tiles * TILE;
    std::vector<int> in;
    for (int i = 0; i < n; i++) in.push_back(i % 13);
    Buffer<int> din(in), out(n);
    bench.time("copied", [] {}, [&] { LAUNCH(copied, (blocks), (TILE), din, out, tiles); });
    std::vector<int> got = out.read();
    for (int i = 0; i < n; i++) {
        int sum = 0;
        for (int k = 0; k < 16; k++) sum += in[i / TILE * TILE + (i + k) % TILE];
        expect(got[i] == sum, "place", i);
    }
}
