// A warp for each row.
__global__ void softmax(int rows, int columns, const float* in, float* out) {
    int lane = threadIdx.x & 31, warps = gridDim.x * (blockDim.x / 32);
    for (int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32; row < rows; row += warps) {
        const float* x = in + row * columns;
        float most = -1e30f;
        for (int i = lane; i < columns; i += 32) most = fmaxf(most, x[i]);
#pragma unroll
        for (int mask = 16; mask > 0; mask >>= 1) most = fmaxf(most, __shfl_xor_sync(~0u, most, mask));
        float sum = 0;
        for (int i = lane; i < columns; i += 32) sum += expf(x[i] - most);
#pragma unroll
        for (int mask = 16; mask > 0; mask >>= 1) sum += __shfl_xor_sync(~0u, sum, mask);
        for (int i = lane; i < columns; i += 32) out[row * columns + i] = expf(x[i] - most) / sum;
    }
}
#include "softmax.h"
