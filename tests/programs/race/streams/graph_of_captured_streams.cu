//@ revisions: racy fixed
//@[racy] findings: unordered-operations
// Two streams are captured; the second one's fill is joined to the first, or only its kernel before it is.
#include "check.h"

__global__ void touch(int* data) { data[threadIdx.x] = 1; }

__global__ void add(int* data) { data[threadIdx.x] += 1; } //~ A

int main() {
    Buffer<int> data(64), other(64);
    cudaStream_t s, t;
    CUDA(cudaStreamCreate(&s));
    CUDA(cudaStreamCreate(&t));
    cudaEvent_t fork, filled, join;
    for (cudaEvent_t* e : {&fork, &filled, &join}) CUDA(cudaEventCreate(e));
    CUDA(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    CUDA(cudaEventRecord(fork, s));
    CUDA(cudaStreamWaitEvent(t, fork, 0));
    touch<<<1, 64, 0, t>>>(other.device);
#ifndef FIXED
    CUDA(cudaEventRecord(filled, t));
#endif
    CUDA(cudaMemsetAsync(data.device, 0, 64 * sizeof(int), t)); //~ B
#ifdef FIXED
    CUDA(cudaEventRecord(filled, t));
#endif
    CUDA(cudaStreamWaitEvent(s, filled, 0));
    add<<<1, 64, 0, s>>>(data.device);
    CUDA(cudaEventRecord(join, t));
    CUDA(cudaStreamWaitEvent(s, join, 0));
    cudaGraph_t graph;
    CUDA(cudaStreamEndCapture(s, &graph));
    cudaGraphExec_t exec;
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CUDA(cudaGraphLaunch(exec, s));
    CUDA(cudaStreamSynchronize(s));
    data.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= data[i] == 1;
    return finish(right);
}
//~ RACE[racy] copy-read|copy-write global device: B A
