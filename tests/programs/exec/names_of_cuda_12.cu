// CUDA 13 removed functions and members of cudaDeviceProp, and gave others further parameters. Older programs compile
// and run as before.
#include "check.h"

__global__ void fill(int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = i;
}

// A program's own function comes before the one of CUDA 12.
static int limits;
inline cudaError_t cudaThreadSetLimit(cudaLimit, size_t) {
    limits++;
    return cudaSuccess;
}

int attribute(cudaDeviceAttr which) {
    int value = -1;
    CUDA(cudaDeviceGetAttribute(&value, which, 0));
    return value;
}

bool properties() {
    cudaDeviceProp p;
    CUDA(cudaGetDeviceProperties(&p, 0));
    return p.clockRate == attribute(cudaDevAttrClockRate) && p.deviceOverlap == attribute(cudaDevAttrGpuOverlap) &&
           p.kernelExecTimeoutEnabled == attribute(cudaDevAttrKernelExecTimeout) &&
           p.computeMode == attribute(cudaDevAttrComputeMode) &&
           p.maxTexture1DLinear == attribute(cudaDevAttrMaxTexture1DLinearWidth) &&
           p.memoryClockRate == attribute(cudaDevAttrMemoryClockRate) &&
           p.singleToDoublePrecisionPerfRatio == attribute(cudaDevAttrSingleToDoublePrecisionPerfRatio) &&
           p.clockRate > 0 && p.memoryClockRate > 0;
}

bool graphs() {
    cudaGraph_t graph;
    cudaGraphNode_t a, b;
    CUDA(cudaGraphCreate(&graph, 0));
    CUDA(cudaGraphAddEmptyNode(&a, graph, nullptr, 0));
    CUDA(cudaGraphAddEmptyNode(&b, graph, nullptr, 0));
    CUDA(cudaGraphAddDependencies(graph, &a, &b, 1));
    size_t edges = 0, before = 0, behind = 0, left = 9;
    CUDA(cudaGraphGetEdges(graph, nullptr, nullptr, &edges));
    CUDA(cudaGraphNodeGetDependencies(b, nullptr, &before));
    CUDA(cudaGraphNodeGetDependentNodes(a, nullptr, &behind));
    CUDA(cudaGraphRemoveDependencies(graph, &a, &b, 1));
    CUDA(cudaGraphGetEdges(graph, nullptr, nullptr, &left));
    CUDA(cudaGraphDestroy(graph));
    return edges == 1 && before == 1 && behind == 1 && left == 0;
}

int main() {
    const int n = 1000;
    int* data;
    CUDA(cudaMallocManaged(&data, n * sizeof(int)));
    CUDA(cudaMemAdvise(data, n * sizeof(int), cudaMemAdviseSetPreferredLocation, 0));
    CUDA(cudaMemPrefetchAsync(data, n * sizeof(int), 0));
    CUDA(cudaMemPrefetchAsync(data, n * sizeof(int), 0, 0));
    fill<<<4, 256>>>(data, n);
    CUDA(cudaThreadSynchronize());
    CUDA(cudaMemPrefetchAsync(data, n * sizeof(int), cudaCpuDeviceId, nullptr));
    SYNC();
    bool right = properties() && graphs();
    for (int i = 0; i < n; i++) right &= data[i] == i;
    CUDA(cudaThreadSetLimit(cudaLimitStackSize, 1024));
    CUDA(cudaThreadExit());
    return finish(right && limits == 1);
}
