//@ revisions: racy fixed
//@[racy] findings: unordered-operations
// A device variable is changed while a kernel that reads it may run.
#include "check.h"

__device__ int factor;

__global__ void scale(int* data) { data[threadIdx.x] *= factor; } //~ READ

int main() {
    int *data, *host;
    cudaStream_t first, second;
    CUDA(cudaMalloc(&data, 32 * sizeof(int)));
    CUDA(cudaMemset(data, 0, 32 * sizeof(int)));
    CUDA(cudaMallocHost(&host, sizeof(int)));
    *host = 3;
    CUDA(cudaStreamCreate(&first));
    CUDA(cudaStreamCreate(&second));
    SYNC();
    scale<<<1, 32, 0, first>>>(data);
#ifdef FIXED
    CUDA(cudaStreamSynchronize(first));
#endif
    CUDA(cudaMemcpyToSymbolAsync(factor, host, sizeof(int), 0, cudaMemcpyHostToDevice, second)); //~ COPY
    SYNC();
    return finish(true);
}
//~ RACE[racy] read-copy global device: READ COPY
