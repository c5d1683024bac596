//@ revisions: racy fixed
//@[racy] findings: unordered-operations
// A copy back on a second stream does not wait for the kernel of the first.
#include "check.h"

__global__ void produce(int* data) { data[blockIdx.x * 32 + threadIdx.x] = threadIdx.x; } //~ WRITE

int main() {
    int *data, *host;
    cudaStream_t first, second;
    cudaEvent_t done;
    CUDA(cudaMalloc(&data, 64 * sizeof(int)));
    CUDA(cudaMallocHost(&host, 64 * sizeof(int)));
    CUDA(cudaStreamCreate(&first));
    CUDA(cudaStreamCreate(&second));
    CUDA(cudaEventCreate(&done));
    produce<<<2, 32, 0, first>>>(data);
#ifdef FIXED
    CUDA(cudaEventRecord(done, first));
    CUDA(cudaStreamWaitEvent(second, done, 0));
#endif
    CUDA(cudaMemcpyAsync(host, data, 64 * sizeof(int), cudaMemcpyDeviceToHost, second)); //~ COPY
    SYNC();
    return finish(host[63] == 31);
}
//~ RACE[racy] write-copy global device: WRITE COPY
