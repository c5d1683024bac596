//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// A transposition by tiles whose blocks are renumbered along diagonals. The racy form reads a tile's columns before
// all of its rows are there.
#include "check.h"

const int TILE = 16, ROWS = 4;

__global__ void transpose(const int* in, int* out, int width, int height) {
    __shared__ int tile[TILE][TILE + 1];
    int block_y = blockIdx.x, block_x = (blockIdx.x + blockIdx.y) % gridDim.x;
    int x = block_x * TILE + threadIdx.x, y = block_y * TILE + threadIdx.y;
    for (int i = 0; i < TILE; i += ROWS) tile[threadIdx.y + i][threadIdx.x] = in[(y + i) * width + x]; //~ A
#ifdef FIXED
    __syncthreads();
#endif
    x = block_y * TILE + threadIdx.x, y = block_x * TILE + threadIdx.y;
    for (int i = 0; i < TILE; i += ROWS) out[(y + i) * height + x] = tile[threadIdx.x][threadIdx.y + i]; //~ B
}
//~ RACE[racy] write-read shared: A B

int main() {
    const int n = 64;
    Buffer<int> in(n * n), out(n * n);
    for (int i = 0; i < n * n; i++) in[i] = i;
    in.upload();
    transpose<<<dim3(n / TILE, n / TILE), dim3(TILE, ROWS)>>>(in.device, out.device, n, n);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < n * n; i++) right &= out[i] == i % n * n + i / n;
    return finish(right);
}
