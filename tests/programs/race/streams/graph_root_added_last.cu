//@ revisions: racy fixed
//@[racy] findings: unordered-operations
// A node without edges may run before all others of the graph and after them, wherever it was added; but not before what
// the graph's stream did before the launch.
#include "check.h"

__global__ void fill(int* data) { data[threadIdx.x] = threadIdx.x; }

__global__ void produce(int* data) { data[threadIdx.x] = threadIdx.x + 1; } //~ A

__global__ void consume(const int* data, const int* before, int* out) {
    out[threadIdx.x] = before[threadIdx.x] + data[threadIdx.x]; //~ B
}
//~ RACE[racy] write-read global device: A B

cudaGraphNode_t node(cudaGraph_t graph, void (*kernel)(int*), int* data, cudaGraphNode_t* after) {
    cudaKernelNodeParams p = {};
    p.gridDim = dim3(1);
    p.blockDim = dim3(64);
    void* arguments[] = {&data};
    p.func = (void*)kernel;
    p.kernelParams = arguments;
    cudaGraphNode_t made;
    CUDA(cudaGraphAddKernelNode(&made, graph, after, after ? 1 : 0, &p));
    return made;
}

int main() {
    // Nothing runs there. But it waits for nobody, so that what the default stream does stays known to the checker.
    cudaStream_t beside;
    CUDA(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking));
    Buffer<int> data(64), out(64), before(64), first(64), second(64);
    cudaGraph_t graph;
    CUDA(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t begin = node(graph, fill, first.device, nullptr);
    node(graph, fill, second.device, &begin);
    cudaGraphNode_t producer = node(graph, produce, data.device, &begin);
    cudaKernelNodeParams p = {};
    p.gridDim = dim3(1);
    p.blockDim = dim3(64);
    void* all[] = {&data.device, &before.device, &out.device};
    p.func = (void*)consume;
    p.kernelParams = all;
    cudaGraphNode_t consumer;
#ifdef FIXED
    CUDA(cudaGraphAddKernelNode(&consumer, graph, &producer, 1, &p));
#else
    CUDA(cudaGraphAddKernelNode(&consumer, graph, nullptr, 0, &p));
#endif
    cudaGraphExec_t exec;
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    for (int round = 0; round < 3; round++) {
        fill<<<1, 64>>>(before.device);
        CUDA(cudaGraphLaunch(exec, 0));
    }
    CUDA(cudaDeviceSynchronize());
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == 2 * i + 1;
    return finish(right);
}
