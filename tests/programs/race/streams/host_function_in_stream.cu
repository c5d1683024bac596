//@ revisions: racy fixed
//@[racy] findings: unordered-operations
// A host function in one stream stands between two kernels' streams; without the event nothing orders them.
#include "check.h"
__global__ void fill(int* data) { data[threadIdx.x] = threadIdx.x; } //~ W
__global__ void sum(const int* data, int* out) { atomicAdd(out, data[threadIdx.x]); } //~ R
static int called;
int main() {
    Buffer<int> data(32), out(1);
    cudaStream_t a, b;
    cudaEvent_t e;
    CUDA(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    CUDA(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    fill<<<1, 32, 0, a>>>(data.device);
#ifdef RACY
    CUDA(cudaEventRecord(e, b));
#endif
    CUDA(cudaLaunchHostFunc(a, [](void* p) { ++*static_cast<int*>(p); }, &called));
#ifdef FIXED
    CUDA(cudaEventRecord(e, a));
#endif
    CUDA(cudaStreamWaitEvent(b, e, 0));
    sum<<<1, 32, 0, b>>>(data.device, out.device);
    CUDA(cudaDeviceSynchronize());
    out.download();
    return finish(out[0] == 496 && called == 1);
}
//~ RACE[racy] write-read global device: W R
