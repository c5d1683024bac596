// Memory that a node of a graph allocates is there in each launch, at one address, also where the program frees it
// between launches, with or without a stream.
#include "check.h"

__global__ void fill(int* data, int value) { data[threadIdx.x] = value; }

int main() {
    const int n = 64;
    int host[n] = {}, *memory = nullptr;
    cudaStream_t stream;
    CUDA(cudaStreamCreate(&stream));
    cudaGraph_t graph;
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CUDA(cudaMallocAsync(&memory, n * sizeof(int), stream));
    fill<<<1, n, 0, stream>>>(memory, 7);
    CUDA(cudaMemcpyAsync(host, memory, sizeof host, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t exec;
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    bool right = true;
    for (int round = 0; round < 3; round++) {
        memset(host, 0, sizeof host);
        CUDA(cudaGraphLaunch(exec, stream));
        CUDA(cudaStreamSynchronize(stream));
        right &= host[0] == 7 && host[n - 1] == 7;
        if (round == 0) CUDA(cudaFree(memory));
        if (round == 1) CUDA(cudaFreeAsync(memory, stream));
    }
    cudaMemAllocNodeParams params = {};
    params.bytesize = n * sizeof(int);
    params.poolProps.allocType = cudaMemAllocationTypePinned;
    params.poolProps.location.type = cudaMemLocationTypeDevice;
    cudaGraph_t other;
    cudaGraphNode_t allocation, work, end;
    CUDA(cudaGraphCreate(&other, 0));
    CUDA(cudaGraphAddMemAllocNode(&allocation, other, nullptr, 0, &params));
    int value = 9;
    void* arguments[] = {&params.dptr, &value};
    cudaKernelNodeParams kernel = {};
    kernel.func = (void*)fill;
    kernel.gridDim = dim3(1);
    kernel.blockDim = dim3(n);
    kernel.kernelParams = arguments;
    CUDA(cudaGraphAddKernelNode(&work, other, &allocation, 1, &kernel));
    CUDA(cudaGraphAddMemFreeNode(&end, other, &work, 1, params.dptr));
    CUDA(cudaGraphInstantiate(&exec, other, 0));
    for (int round = 0; round < 2; round++) CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
    return finish(right);
}
