//@ revisions: racy fixed
//@[racy] findings: unordered-operations
// The kernel starts although the copy of its input may still be under way. The
// copy touches the first half; nobody copies what the second kernel reads.
#include "check.h"

__global__ void sum(const int* data, int* out) { atomicAdd(out, data[threadIdx.x]); } //~ READ
__global__ void other_half(const int* data, int* out) { atomicAdd(out, data[32 + threadIdx.x]); }

int main() {
    int *data, *host, *out;
    cudaStream_t first, second;
    CUDA(cudaMalloc(&data, 64 * sizeof(int)));
    CUDA(cudaMalloc(&out, 2 * sizeof(int)));
    CUDA(cudaMemset(out, 0, 2 * sizeof(int)));
    CUDA(cudaMallocHost(&host, 32 * sizeof(int)));
    for (int i = 0; i < 32; i++) host[i] = i;
    CUDA(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CUDA(cudaMemcpyAsync(data, host, 32 * sizeof(int), cudaMemcpyHostToDevice, first)); //~ COPY
#ifdef FIXED
    CUDA(cudaStreamSynchronize(first));
#endif
    sum<<<1, 32, 0, second>>>(data, out);
    other_half<<<1, 32, 0, second>>>(data, out + 1);
    SYNC();
    return finish(true);
}
//~ RACE[racy] copy-read global device: COPY READ
