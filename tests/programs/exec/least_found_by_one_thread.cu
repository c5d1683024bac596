// The threads of a block seek the least number of a column. The first one seeks the least of what they found: at -O3,
// LLVM 22's vectoriser takes hours for this loop once it is unrolled 32 times.
#include "check.h"

__global__ void least(const float* in, float* out, int rows, int columns) {
    __shared__ float found[32];
    float own = 1e30f;
    for (int row = threadIdx.x; row < rows; row += 32) {
        float value = in[row * columns + blockIdx.x];
        if (value < own) own = value;
    }
    found[threadIdx.x] = own;
    __syncthreads();
    if (threadIdx.x == 0) {
        own = 1e30f;
        for (int i = 0; i < 32; i++)
            if (found[i] < own) own = found[i];
        out[blockIdx.x] = own;
    }
}

int main() {
    const int rows = 100, columns = 8;
    Buffer<float> in(rows * columns), out(columns);
    for (int i = 0; i < rows * columns; ++i) in.host[i] = i * 7919 % 1009;
    in.upload();
    least<<<columns, 32>>>(in.device, out.device, rows, columns);
    SYNC();
    out.download();
    bool right = true;
    for (int column = 0; column < columns; ++column) {
        float wanted = 1e30f;
        for (int row = 0; row < rows; ++row)
            if (in.host[row * columns + column] < wanted) wanted = in.host[row * columns + column];
        right &= out.host[column] == wanted;
    }
    return finish(right);
}
