//@ revisions: racy fixed
//@[racy] findings: host
// The host reads the result before it waits for the kernel. The first that it has waited for was a copy: no kernel had run before.
#include "check.h"

__global__ void produce(int* data) { data[threadIdx.x] = threadIdx.x + 1; } //~ WRITE

int main() {
    int *data, *other, *host;
    cudaStream_t stream, beside;
    CUDA(cudaMallocManaged(&data, 64 * sizeof(int)));
    CUDA(cudaMalloc(&other, 64 * sizeof(int)));
    CUDA(cudaMallocHost(&host, 64 * sizeof(int)));
    CUDA(cudaStreamCreate(&stream));
    CUDA(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking));
    CUDA(cudaMemsetAsync(other, 0, 64 * sizeof(int), stream));
    CUDA(cudaMemcpyAsync(host, other, 64 * sizeof(int), cudaMemcpyDeviceToHost, stream));
    CUDA(cudaStreamSynchronize(stream));
    produce<<<1, 64>>>(data);
#ifdef FIXED
    SYNC();
#endif
    volatile int sum = host[0];
    for (int i = 0; i < 64; i++) {
        sum = sum + data[i]; //~ READ
    }
    SYNC();
    CUDA(cudaFree(data));
    return finish(sum == 64 * 65 / 2);
}
//~ RACE[racy] write-host global system: WRITE READ
