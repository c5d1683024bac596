// A transposition by tiles. A thread moves four elements.
__global__ void transpose(int n, const float* in, float* out) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8) tile[threadIdx.y + i][threadIdx.x] = in[(y + i) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8) out[(y + i) * n + x] = tile[threadIdx.x][threadIdx.y + i];
}
#include "transpose.h"
