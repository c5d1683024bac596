//@ revisions: racy fixed
//@[racy] findings: unordered-operations
// The default stream waits for blocking streams, and they for it; not so streams that do not block.
#include "check.h"
__global__ void fill(int* data) { data[threadIdx.x] = threadIdx.x; } //~ W
__global__ void sum(const int* data, int* out) { atomicAdd(out, data[threadIdx.x]); } //~ R
int main() {
    Buffer<int> data(32), out(1);
    cudaStream_t s;
#ifdef RACY
    CUDA(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, 0));
#else
    CUDA(cudaStreamCreateWithPriority(&s, cudaStreamDefault, 0));
#endif
    fill<<<1, 32, 0, s>>>(data.device);
    sum<<<1, 32>>>(data.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 496);
}
//~ RACE[racy] write-read global device: W R
