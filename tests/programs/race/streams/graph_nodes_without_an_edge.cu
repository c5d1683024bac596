//@ revisions: racy fixed
//@[racy] findings: unordered-operations
// Two kernels of a graph write and read one buffer: the edges of the graph are their only order.
#include "check.h"

__global__ void produce(int* data) { data[threadIdx.x] = threadIdx.x + 1; } //~ A

__global__ void consume(const int* data, int* out) { out[threadIdx.x] = 2 * data[threadIdx.x]; } //~ B
//~ RACE[racy] write-read global device: A B

int main() {
    Buffer<int> data(64), out(64);
    cudaGraph_t graph;
    CUDA(cudaGraphCreate(&graph, 0));
    cudaKernelNodeParams p = {};
    p.gridDim = dim3(1);
    p.blockDim = dim3(64);
    void* to[] = {&data.device};
    p.func = (void*)produce;
    p.kernelParams = to;
    cudaGraphNode_t first, second;
    CUDA(cudaGraphAddKernelNode(&first, graph, nullptr, 0, &p));
    void* both[] = {&data.device, &out.device};
    p.func = (void*)consume;
    p.kernelParams = both;
#ifdef FIXED
    CUDA(cudaGraphAddKernelNode(&second, graph, &first, 1, &p));
#else
    CUDA(cudaGraphAddKernelNode(&second, graph, nullptr, 0, &p));
#endif
    cudaGraphExec_t exec;
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    for (int round = 0; round < 3; round++) CUDA(cudaGraphLaunch(exec, 0));
    CUDA(cudaDeviceSynchronize());
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == 2 * (i + 1);
    return finish(right);
}
