//@ revisions: racy fixed
//@[racy] findings: unordered-operations
// `cudaMemset` of device memory returns before it is done, and a stream that
// does not block does not wait for the default stream.
#include "check.h"

__global__ void mark(int* data) { data[threadIdx.x] = 1; } //~ WRITE

int main() {
    int* data;
    cudaStream_t own;
    CUDA(cudaMalloc(&data, 32 * sizeof(int)));
    CUDA(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
    CUDA(cudaMemset(data, 0, 32 * sizeof(int))); //~ FILL
#ifdef FIXED
    SYNC();
#endif
    mark<<<1, 32, 0, own>>>(data);
    SYNC();
    return finish(true);
}
//~ RACE[racy] copy-write global device: FILL WRITE
