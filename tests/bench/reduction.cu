__global__ void reduction(int n, const int* in, int* out) {
    __shared__ int tile[256];
    int t = threadIdx.x, i = blockIdx.x * 512 + t;
    int sum = i < n ? in[i] : 0;
    if (i + 256 < n) sum += in[i + 256];
    tile[t] = sum;
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        if (t < s) tile[t] += tile[t + s];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = tile[0];
}
#include "reduction.h"
