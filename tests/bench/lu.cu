// A decomposition into two triangular matrices, in place: two launches for each column.
__global__ void scale(int n, int k, float* a) {
    int y = k + 1 + blockIdx.x * blockDim.x + threadIdx.x;
    if (y < n) a[y * n + k] /= a[k * n + k];
}

__global__ void eliminate(int n, int k, float* a) {
    int x = k + 1 + blockIdx.x * blockDim.x + threadIdx.x, y = k + 1 + blockIdx.y * blockDim.y + threadIdx.y;
    if (x < n && y < n) a[y * n + x] -= a[y * n + k] * a[k * n + x];
}
#include "lu.h"
