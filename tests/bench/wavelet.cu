// A Haar transform of 512 numbers by each block. In each step half of the threads go on.
__global__ void wavelet(const float* in, float* out) {
    __shared__ float part[512];
    int t = threadIdx.x, first = blockIdx.x * 512;
    part[t] = in[first + t];
    part[t + 256] = in[first + t + 256];
    __syncthreads();
    for (int half = 256; half > 0; half /= 2) {
        float sum = 0, difference = 0;
        if (t < half) {
            sum = (part[2 * t] + part[2 * t + 1]) * 0.5f;
            difference = (part[2 * t] - part[2 * t + 1]) * 0.5f;
        }
        __syncthreads();
        if (t < half) {
            part[t] = sum;
            part[half + t] = difference;
        }
        __syncthreads();
    }
    out[first + t] = part[t];
    out[first + t + 256] = part[t + 256];
}
#include "wavelet.h"
