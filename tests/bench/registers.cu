// A matrix product in which each thread keeps 16 sums in registers.
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
#include "registers.h"
