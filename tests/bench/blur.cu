// The mean of 3 by 3 bytes of an image.
__global__ void blur(int w, int h, const unsigned char* in, unsigned char* out) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return;
    int sum = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) sum += in[(y + dy) * w + x + dx];
    out[y * w + x] = sum / 9;
}
#include "blur.h"
