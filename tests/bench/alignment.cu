// Scores of the alignment of two strings. A launch does the tiles of one diagonal, a block the diagonals of a
// tile.
__global__ void alignment(int width, int diagonal, int top, const int* a, const int* b, int* scores) {
    __shared__ int tile[17][17];
    int t = threadIdx.x, row = top + blockIdx.x, column = diagonal - row;
    int* corner = scores + row * 16 * width + column * 16;
    int other = b[column * 16 + t];
    if (t == 0) tile[0][0] = corner[0];
    tile[0][t + 1] = corner[t + 1];
    tile[t + 1][0] = corner[(t + 1) * width];
    __syncthreads();
    for (int step = 0; step < 31; step++) {
        int y = step - t;
        if (y >= 0 && y < 16) {
            int met = tile[y][t] + (a[row * 16 + y] == other ? 2 : -1);
            tile[y + 1][t + 1] = max(met, max(tile[y + 1][t], tile[y][t + 1]) - 1);
        }
        __syncthreads();
    }
    for (int y = 1; y <= 16; y++) corner[y * width + t + 1] = tile[y][t + 1];
}
#include "alignment.h"
