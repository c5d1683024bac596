// Lengths of runs of equal bytes. The thread at a run's first byte counts it.
__global__ void runs(int n, const unsigned char* in, unsigned char* lengths) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int length = 0;
    if (i == 0 || in[i] != in[i - 1])
        while (length < 255 && i + length < n && in[i + length] == in[i]) length++;
    lengths[i] = length;
}
#include "runs.h"
