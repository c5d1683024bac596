__device__ void order(unsigned* a, unsigned* b, bool up) {
    unsigned x = *a, y = *b;
    if ((x > y) == up) *a = y, *b = x;
}
// All steps that exchange elements within one block's 512 elements: `k` from `from` to `to`, `j` from at
// most 256.
__global__ void bitonic_block(unsigned* data, int from, int to) {
    __shared__ unsigned tile[512];
    int t = threadIdx.x, base = blockIdx.x * 512;
    tile[t] = data[base + t];
    tile[t + 256] = data[base + t + 256];
    __syncthreads();
    for (int k = from; k <= to; k *= 2)
        for (int j = k / 2 < 256 ? k / 2 : 256; j > 0; j /= 2) {
            int i = 2 * t - (t & (j - 1));
            order(&tile[i], &tile[i + j], ((base + i) & k) == 0);
            __syncthreads();
        }
    data[base + t] = tile[t];
    data[base + t + 256] = tile[t + 256];
}
__global__ void bitonic_step(unsigned* data, int j, int k) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int i = 2 * t - (t & (j - 1));
    order(&data[i], &data[i + j], (i & k) == 0);
}
#include "bitonic.h"
