// Kernels that need the runtime's threads, forked trials and the solver. With -DFIXED there is no race.
#include <cstdio>

__global__ void exchange(int* out, int n) {
    __shared__ int tile[64];
    tile[threadIdx.x] = n;
#ifdef FIXED
    __syncthreads();
#endif
    out[blockIdx.x * 64 + threadIdx.x] = tile[threadIdx.x ^ 33];
}

__device__ int ended;

__global__ void last_block(int* out) {
    if (threadIdx.x == 0 && atomicAdd(&ended, 1) == gridDim.x - 1) {
        out[0] = 7;
        ended = 0;
    }
}

__global__ void scale(int* out, int n, int by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i * by < n) out[i * by] = i;
}

int main() {
    int *out, all[64];
    if (cudaMalloc(&out, 64 * 64 * 4) != cudaSuccess) return 3;
    exchange<<<64, 64>>>(out, 7);
    last_block<<<4, 32>>>(out);
    scale<<<2, 32>>>(out, 64, 1);
    if (cudaDeviceSynchronize() != cudaSuccess) return 4;
    if (cudaMemcpy(all, out, sizeof all, cudaMemcpyDeviceToHost) != cudaSuccess) return 5;
    for (int i = 0; i < 64; i++)
        if (all[i] != i) return 6;
    puts("done");
    return 0;
}
