// Numbers, moved to the places that a permutation in random order gives.
__global__ void scatter(int n, const int* places, const int* in, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[places[i]] = in[i];
}
#include "scatter.h"
