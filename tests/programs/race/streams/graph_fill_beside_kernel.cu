//@ revisions: racy fixed
//@[racy] findings: unordered-operations
// A fill and a kernel of one graph, with or without an edge between.
#include "check.h"
__global__ void add(int* data) { data[threadIdx.x] += 1; } //~ K
int main() {
    Buffer<int> data(32);
    cudaGraph_t graph;
    cudaGraphNode_t fill, kernel;
    CUDA(cudaGraphCreate(&graph, 0));
    cudaMemsetParams m = {};
    m.dst = data.device, m.elementSize = 1, m.width = 32 * sizeof(int), m.height = 1;
    CUDA(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &m)); //~ F
    int* p = data.device;
    void* args[] = {&p};
    cudaKernelNodeParams k = {};
    k.func = (void*)add, k.gridDim = dim3(1), k.blockDim = dim3(32), k.kernelParams = args;
#ifdef FIXED
    CUDA(cudaGraphAddKernelNode(&kernel, graph, &fill, 1, &k));
#else
    CUDA(cudaGraphAddKernelNode(&kernel, graph, nullptr, 0, &k));
#endif
    cudaGraphExec_t exec;
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CUDA(cudaGraphLaunch(exec, 0));
    CUDA(cudaGraphLaunch(exec, 0));
    SYNC();
    data.download();
    return finish(data[3] == 1);
}
//~ RACE[racy] copy-read|copy-write global device: F K
