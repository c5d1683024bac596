// Launches of a graph are ordered with each other and with what the stream has before and after them, and a diamond of
// nodes is ordered by its edges; the default stream waits for all of it.
#include "check.h"

__global__ void add(int* data, int value) { data[threadIdx.x] += value; }

__global__ void sum(const int* a, const int* b, int* out) { out[threadIdx.x] += a[threadIdx.x] + b[threadIdx.x]; }

int main() {
    Buffer<int> a(64), b(64), out(64);
    cudaStream_t s, t;
    CUDA(cudaStreamCreate(&s));
    CUDA(cudaStreamCreate(&t));
    cudaEvent_t fork, join;
    CUDA(cudaEventCreate(&fork));
    CUDA(cudaEventCreate(&join));
    CUDA(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    add<<<1, 64, 0, s>>>(out.device, 1);
    CUDA(cudaEventRecord(fork, s));
    CUDA(cudaStreamWaitEvent(t, fork, 0));
    add<<<1, 64, 0, s>>>(a.device, 1);
    add<<<1, 64, 0, t>>>(b.device, 2);
    add<<<1, 64, 0, t>>>(b.device, 2);
    CUDA(cudaEventRecord(join, t));
    CUDA(cudaStreamWaitEvent(s, join, 0));
    sum<<<1, 64, 0, s>>>(a.device, b.device, out.device);
    cudaGraph_t graph;
    CUDA(cudaStreamEndCapture(s, &graph));
    cudaGraphExec_t exec;
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    add<<<1, 64, 0, s>>>(b.device, 10);
    for (int round = 0; round < 20; round++) CUDA(cudaGraphLaunch(exec, s));
    add<<<1, 64, 0, s>>>(a.device, 100);
    // One instance of a graph runs at a time, on whatever streams.
    CUDA(cudaStreamSynchronize(s));
    CUDA(cudaGraphLaunch(exec, s));
    CUDA(cudaGraphLaunch(exec, t));
    add<<<1, 64>>>(out.device, 1000);
    SYNC();
    out.download();
    int wanted = 1000, x = 0, y = 10;
    for (int round = 0; round < 22; round++) {
        if (round == 20) x += 100;
        x += 1, y += 4, wanted += 1 + x + y;
    }
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == wanted;
    return finish(right);
}
