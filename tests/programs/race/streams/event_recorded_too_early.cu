//@ revisions: racy fixed
//@[racy] findings: unordered-operations
// A wait is for what the event was recorded after when the wait was called; recording it again later changes nothing.
#include "check.h"
__global__ void fill(int* data) { data[threadIdx.x] = threadIdx.x; } //~ W
__global__ void sum(const int* data, int* out) { atomicAdd(out, data[threadIdx.x]); } //~ R
int main() {
    Buffer<int> data(32), out(1);
    cudaStream_t a, b;
    cudaEvent_t e;
    CUDA(cudaStreamCreate(&a));
    CUDA(cudaStreamCreate(&b));
    CUDA(cudaEventCreate(&e));
    CUDA(cudaEventRecord(e, a));
#ifdef RACY
    CUDA(cudaStreamWaitEvent(b, e, 0));
    fill<<<1, 32, 0, a>>>(data.device);
    CUDA(cudaEventRecord(e, a));
#else
    fill<<<1, 32, 0, a>>>(data.device);
    CUDA(cudaEventRecord(e, a));
    CUDA(cudaStreamWaitEvent(b, e, 0));
#endif
    sum<<<1, 32, 0, b>>>(data.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 496);
}
//~ RACE[racy] write-read global device: W R
