// A tiled matrix product, without the barrier at the end of its loop.
//
//     gclang -fsanitize=gpurace -fgpurace-exec=cpu matmul.cu -o matmul
//     ./matmul
//
// Each round loads a tile of A and one of B into shared memory, waits, and
// multiplies. A fast thread then loads the next tiles while slow ones still
// read the old ones: the race is between the end of one round and the start of
// the next, and disappears where the matrix is a single tile. gpurace reports
// the reads and the writes. With -DFIXED a second barrier ends the round.
#include <cstdio>

constexpr int TILE = 16;

__global__ void multiply(const float* a, const float* b, float* c, int n) {
    __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int column = blockIdx.x * TILE + x, row = blockIdx.y * TILE + y;
    float sum = 0;
    for (int k = 0; k < n; k += TILE) {
        a_tile[y][x] = a[row * n + k + x];
        b_tile[y][x] = b[(k + y) * n + column];
        __syncthreads();
        for (int i = 0; i < TILE; i++) {
            float left = a_tile[y][i];
            float right = b_tile[i][x];
            sum += left * right;
        }
#ifdef FIXED
        __syncthreads();
#endif
    }
    c[row * n + column] = sum;
}

int main() {
    const int n = 64;
    const size_t bytes = n * n * sizeof(float);
    static float a[n * n], b[n * n], c[n * n];
    for (int i = 0; i < n * n; i++) {
        // Small integers: every sum is exact, in any order.
        a[i] = i % 7 - 3;
        b[i] = i % 5 - 2;
    }
    float *device_a, *device_b, *device_c;
    cudaMalloc(&device_a, bytes);
    cudaMalloc(&device_b, bytes);
    cudaMalloc(&device_c, bytes);
    cudaMemcpy(device_a, a, bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(device_b, b, bytes, cudaMemcpyHostToDevice);

    multiply<<<dim3(n / TILE, n / TILE), dim3(TILE, TILE)>>>(device_a, device_b, device_c, n);

    cudaError_t error = cudaMemcpy(c, device_c, bytes, cudaMemcpyDeviceToHost);
    if (error != cudaSuccess) {
        fprintf(stderr, "matmul: %s\n", cudaGetErrorString(error));
        return 2;
    }
    int wrong = 0;
    for (int row = 0; row < n; row++)
        for (int column = 0; column < n; column++) {
            float wanted = 0;
            for (int k = 0; k < n; k++) wanted += a[row * n + k] * b[k * n + column];
            wrong += c[row * n + column] != wanted;
        }
    printf("%d of %d elements are wrong\n", wrong, n * n);
    cudaFree(device_a);
    cudaFree(device_b);
    cudaFree(device_c);
    // A racy build may print any number: the schedule decides. Only the report tells.
#ifdef FIXED
    return wrong ? 1 : 0;
#else
    return 0;
#endif
}
