__global__ void spmv(int rows, const int* starts, const int* columns, const float* values, const float* x,
                     float* y) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0;
        for (int i = starts[row]; i < starts[row + 1]; i++) sum += values[i] * x[columns[i]];
        y[row] = sum;
    }
}
#include "spmv.h"
