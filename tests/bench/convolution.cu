// Rows of an image, convolved. A block keeps its part of a row and 8 neighbours on both sides in shared
// memory.
__global__ void convolution(int w, const float* in, const float* taps, float* out) {
    __shared__ float part[128 + 16];
    const float* row = in + blockIdx.y * w;
    int first = blockIdx.x * 128 - 8;
    for (int i = threadIdx.x; i < 128 + 16; i += blockDim.x) {
        int x = first + i;
        part[i] = x >= 0 && x < w ? row[x] : 0;
    }
    __syncthreads();
    float sum = 0;
    for (int k = 0; k <= 16; k++) sum += taps[k] * part[threadIdx.x + k];
    out[blockIdx.y * w + blockIdx.x * 128 + threadIdx.x] = sum;
}
#include "convolution.h"
