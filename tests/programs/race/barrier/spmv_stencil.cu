//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// A sparse matrix of five diagonals times a vector, as a stencil: a block loads its part of the vector and the
// halo into shared memory. The racy form multiplies before the halo is there.
#include "check.h"

const int BLOCK = 64, HALO = 2;

__global__ void multiply(const float* diagonals, const float* x, float* y, int n) {
    __shared__ float part[BLOCK + 2 * HALO];
    int t = threadIdx.x, row = blockIdx.x * BLOCK + t;
    part[HALO + t] = x[row]; //~ W
    if (t < HALO) {
        part[t] = row >= HALO ? x[row - HALO] : 0; //~ A
        part[HALO + BLOCK + t] = row + BLOCK < n ? x[row + BLOCK] : 0; //~ B
    }
#ifdef FIXED
    __syncthreads();
#endif
    float sum = 0;
    for (int d = 0; d < 2 * HALO + 1; d++) sum += diagonals[d * n + row] * part[t + d]; //~ C
    y[row] = sum;
}
//~ RACE[racy] write-read shared: W C
//~ RACE[racy] write-read shared: A C
//~ RACE[racy] write-read shared: B C

int main() {
    const int n = 256;
    Buffer<float> diagonals(5 * n), x(n), y(n);
    for (int i = 0; i < 5 * n; i++) diagonals[i] = i / n + 1;
    for (int i = 0; i < n; i++) x[i] = i % 7;
    diagonals.upload(), x.upload();
    multiply<<<n / BLOCK, BLOCK>>>(diagonals.device, x.device, y.device, n);
    SYNC();
    y.download();
    bool right = true;
    for (int i = 0; i < n; i++) {
        float sum = 0;
        for (int d = 0; d < 5; d++)
            if (i + d >= 2 && i + d - 2 < n) sum += (d + 1) * x[i + d - 2];
        right &= y[i] == sum;
    }
    return finish(right);
}
