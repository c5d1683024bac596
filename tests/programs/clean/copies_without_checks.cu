// Where no launch is checked, a program of two streams copies as ever.
//@ options: skip_kernels=*
#include "check.h"

__global__ void mark(int* data) { data[threadIdx.x] = 1; }

int main() {
    int* data;
    cudaStream_t first, second;
    CUDA(cudaMalloc(&data, 32 * sizeof(int)));
    CUDA(cudaStreamCreate(&first));
    CUDA(cudaStreamCreate(&second));
    mark<<<1, 32, 0, first>>>(data);
    CUDA(cudaMemsetAsync(data, 0, 32 * sizeof(int), second));
    SYNC();
    return finish(true);
}
