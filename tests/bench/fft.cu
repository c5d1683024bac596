// A Fourier transform of 256 numbers by each block, in place in shared memory.
__global__ void fft(float* real, float* imaginary, const float* cosines, const float* sines) {
    __shared__ float re[256], im[256];
    int t = threadIdx.x, first = blockIdx.x * 256;
    for (int i = t; i < 256; i += 128) {
        int reversed = __brev(i) >> 24;
        re[reversed] = real[first + i];
        im[reversed] = imaginary[first + i];
    }
    __syncthreads();
    for (int half = 1; half < 256; half *= 2) {
        int in = t & (half - 1), low = 2 * t - in, high = low + half, turn = in * (128 / half);
        float c = cosines[turn], s = sines[turn];
        float x = re[high] * c - im[high] * s, y = re[high] * s + im[high] * c;
        re[high] = re[low] - x;
        im[high] = im[low] - y;
        re[low] += x;
        im[low] += y;
        __syncthreads();
    }
    for (int i = t; i < 256; i += 128) {
        real[first + i] = re[i];
        imaginary[first + i] = im[i];
    }
}
#include "fft.h"
