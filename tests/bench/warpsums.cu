__inline__ __device__ float warp_sum(float v) {
    for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffffu, v, offset);
    return v;
}

__global__ void warpsums(int n, const float* in, float* out) {
    __shared__ float sums[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float sum = 0;
    for (int i = blockIdx.x * 1024 + threadIdx.x; i < n && i < (blockIdx.x + 1) * 1024; i += blockDim.x)
        sum += in[i];
    sum = warp_sum(sum);
    if (lane == 0) sums[warp] = sum;
    __syncthreads();
    sum = threadIdx.x < blockDim.x / 32 ? sums[lane] : 0;
    if (warp == 0) sum = warp_sum(sum);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
#include "warpsums.h"
