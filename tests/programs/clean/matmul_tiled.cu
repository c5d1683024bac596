// A tiled matrix product with both barriers; its float sums are the host's, bit for bit.
#include "check.h"

constexpr int N = 32, T = 8;

__global__ void multiply(const float* a, const float* b, float* c) {
    __shared__ float x[T][T], y[T][T];
    int row = blockIdx.y * T + threadIdx.y, column = blockIdx.x * T + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < N; k += T) {
        x[threadIdx.y][threadIdx.x] = a[row * N + k + threadIdx.x];
        y[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * N + column];
        __syncthreads();
        for (int i = 0; i < T; i++) sum += x[threadIdx.y][i] * y[i][threadIdx.x];
        __syncthreads();
    }
    c[row * N + column] = sum;
}

int main() {
    Buffer<float> a(N * N), b(N * N), c(N * N);
    // Small integers: every intermediate sum is exact, fused or not.
    for (int i = 0; i < N * N; i++) a[i] = i % 7 - 3, b[i] = i % 5 - 2;
    a.upload(), b.upload();
    multiply<<<dim3(N / T, N / T), dim3(T, T)>>>(a.device, b.device, c.device);
    SYNC();
    c.download();
    bool right = true;
    for (int r = 0; r < N; r++)
        for (int q = 0; q < N; q++) {
            float sum = 0;
            for (int k = 0; k < N; k++) sum += a[r * N + k] * b[k * N + q];
            right &= c[r * N + q] == sum;
        }
    return finish(right);
}
