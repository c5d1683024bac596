//@ revisions: racy fixed
//@[racy] findings: unordered-operations
// Two streams copy into buffers that overlap by one element; no kernel at all.
#include "check.h"

__global__ void unused() {}

int main() {
    int *data, *host;
    cudaStream_t first, second;
    CUDA(cudaMalloc(&data, 64 * sizeof(int)));
    CUDA(cudaMallocHost(&host, 64 * sizeof(int)));
    CUDA(cudaStreamCreate(&first));
    CUDA(cudaStreamCreate(&second));
#ifdef FIXED
    const int count = 32;
#else
    const int count = 33;
#endif
    CUDA(cudaMemcpyAsync(data, host, count * sizeof(int), cudaMemcpyHostToDevice, first)); //~ A
    CUDA(cudaMemcpyAsync(data + 32, host + 32, 32 * sizeof(int), cudaMemcpyHostToDevice, second)); //~ B
    SYNC();
    return finish(true);
}
//~ RACE[racy] copy-copy global device: A B
