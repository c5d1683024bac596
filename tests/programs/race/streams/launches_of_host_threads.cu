//@ revisions: racy fixed
//@[racy] findings: unordered-operations
// Two host threads launch on streams of their own; an event that one records and the other waits for orders them.
#include <thread>
#include <atomic>
#include "check.h"
__global__ void fill(int* data) { data[threadIdx.x] = threadIdx.x; } //~ W
__global__ void sum(const int* data, int* out) { atomicAdd(out, data[threadIdx.x]); } //~ R
int main() {
    Buffer<int> data(32), out(1);
    cudaStream_t a, b;
    cudaEvent_t e;
    CUDA(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    CUDA(cudaEventCreate(&e));
    std::atomic<int> step{0};
    std::thread first([&] {
        fill<<<1, 32, 0, a>>>(data.device);
        CUDA(cudaEventRecord(e, a));
        step = 1;
    });
    std::thread second([&] {
        while (step != 1) std::this_thread::yield();
#ifdef FIXED
        CUDA(cudaStreamWaitEvent(b, e, 0));
#endif
        sum<<<1, 32, 0, b>>>(data.device, out.device);
    });
    first.join();
    second.join();
    SYNC();
    out.download();
    return finish(out[0] == 496);
}
//~ RACE[racy] write-read global device: W R
