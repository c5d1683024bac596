//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// A product of matrices by tiles. The barrier between loading two tiles and adding them up, in a
// loop of one line, is missing: the tile of rows stays in one warp, that of columns does not.
#include "check.h"

constexpr int TILE = 16;

__global__ void multiply(const int* a, const int* b, int* c, int n) {
    __shared__ int rows[TILE][TILE], columns[TILE][TILE];
    int y = threadIdx.y, x = threadIdx.x, sum = 0;
    int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    for (int k0 = 0; k0 < n; k0 += TILE) {
        rows[y][x] = a[row * n + k0 + x];       //~ A
        columns[y][x] = b[(k0 + y) * n + column]; //~ B
#ifdef FIXED
        __syncthreads();
#endif
        for (int k = 0; k < TILE; k++) sum += rows[y][k] * columns[k][x]; //~ C
        __syncthreads();
    }
    c[row * n + column] = sum;
}
//~ RACE[racy] write-read shared: A C
//~ RACE[racy] write-read shared: B C

int main() {
    const int n = 32;
    Buffer<int> a(n * n), b(n * n), c(n * n);
    for (int i = 0; i < n * n; i++) a[i] = i % 7, b[i] = i % 5;
    a.upload();
    b.upload();
    multiply<<<dim3(n / TILE, n / TILE), dim3(TILE, TILE)>>>(a.device, b.device, c.device, n);
    SYNC();
    c.download();
    int wanted = 0;
    for (int k = 0; k < n; k++) wanted += a[k] * b[k * n + 1];
    return finish(c[1] == wanted);
}
