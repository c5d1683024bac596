// Graphs do what their nodes say, made by hand and by capture, launched more than once, cloned, nested and updated.
#include <vector>
#include "check.h"

__global__ void add(int* data, int value, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] += value;
}

__global__ void sum(const int* a, const int* b, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}

static const int n = 100;
static bool all_right = true;

static void expect(bool right, const char* what) {
    if (!right) printf("%s\n", what);
    all_right &= right;
}

static cudaKernelNodeParams kernel(void* function, void** arguments) {
    cudaKernelNodeParams p = {};
    p.func = function;
    p.gridDim = dim3(2);
    p.blockDim = dim3(64);
    p.kernelParams = arguments;
    return p;
}

static void count_call(void* counter) { ++*static_cast<int*>(counter); }

static void by_hand() {
    Buffer<int> a(n), b(n), out(n);
    std::vector<int> result(n);
    int calls = 0;
    for (int i = 0; i < n; i++) a[i] = i;
    cudaGraph_t graph;
    CUDA(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t copy, fill, first, second, last, back, host, empty;
    CUDA(cudaGraphAddMemcpyNode1D(&copy, graph, nullptr, 0, a.device, a.host, n * sizeof(int), cudaMemcpyHostToDevice));
    cudaMemsetParams words = {};
    words.dst = b.device;
    words.value = 0x01020304;
    words.elementSize = 4;
    words.width = n;
    words.height = 1;
    CUDA(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &words));
    int one = 1, two = 2, size = n;
    void* to_a[] = {&a.device, &one, &size};
    auto p = kernel((void*)add, to_a);
    CUDA(cudaGraphAddKernelNode(&first, graph, &copy, 1, &p));
    void* to_b[] = {&b.device, &two, &size};
    p = kernel((void*)add, to_b);
    CUDA(cudaGraphAddKernelNode(&second, graph, &fill, 1, &p));
    void* both[] = {&a.device, &b.device, &out.device, &size};
    p = kernel((void*)sum, both);
    cudaGraphNode_t before[] = {first, second};
    CUDA(cudaGraphAddEmptyNode(&empty, graph, before, 2));
    CUDA(cudaGraphAddKernelNode(&last, graph, &empty, 1, &p));
    cudaMemcpy3DParms params = {};
    params.srcPtr = make_cudaPitchedPtr(out.device, n * sizeof(int), n, 1);
    params.dstPtr = make_cudaPitchedPtr(result.data(), n * sizeof(int), n, 1);
    params.extent = make_cudaExtent(n * sizeof(int), 1, 1);
    params.kind = cudaMemcpyDeviceToHost;
    CUDA(cudaGraphAddMemcpyNode(&back, graph, &last, 1, &params));
    cudaHostNodeParams call = {count_call, &calls};
    CUDA(cudaGraphAddHostNode(&host, graph, nullptr, 0, &call));
    CUDA(cudaGraphAddDependencies(graph, &back, &host, nullptr, 1));

    size_t nodes = 0, edges = 0, roots = 0;
    CUDA(cudaGraphGetNodes(graph, nullptr, &nodes));
    CUDA(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
    CUDA(cudaGraphGetRootNodes(graph, nullptr, &roots));
    expect(nodes == 8 && edges == 7 && roots == 2, "counts of a graph");
    cudaGraphNodeType type;
    CUDA(cudaGraphNodeGetType(fill, &type));
    expect(type == cudaGraphNodeTypeMemset, "type of a node");

    cudaGraphExec_t exec, of_clone;
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    cudaStream_t stream;
    CUDA(cudaStreamCreate(&stream));
    for (int round = 0; round < 3; round++) {
        CUDA(cudaGraphLaunch(exec, stream));
        CUDA(cudaStreamSynchronize(stream));
        bool right = true;
        for (int i = 0; i < n; i++) right &= result[i] == i + 1 + 0x01020304 + 2;
        expect(right && calls == round + 1, "a graph made by hand");
    }

    // What is changed after it was instantiated: the graph alone, or the instance alone.
    cudaGraph_t clone;
    CUDA(cudaGraphClone(&clone, graph));
    int ten = 10;
    void* ten_to_a[] = {&a.device, &ten, &size};
    p = kernel((void*)add, ten_to_a);
    CUDA(cudaGraphExecKernelNodeSetParams(exec, first, &p));
    CUDA(cudaGraphInstantiateWithFlags(&of_clone, clone, 0));
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
    expect(result[5] == 5 + 10 + 0x01020304 + 2, "an updated node");
    CUDA(cudaGraphLaunch(of_clone, 0));
    CUDA(cudaDeviceSynchronize());
    expect(result[5] == 5 + 1 + 0x01020304 + 2, "a cloned graph");
    cudaGraphExecUpdateResultInfo info;
    CUDA(cudaGraphExecUpdate(exec, clone, &info));
    CUDA(cudaGraphNodeSetEnabled(exec, second, 0));
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
    expect(info.result == cudaGraphExecUpdateSuccess && result[5] == 5 + 1 + 0x01020304, "an updated graph");

    // Another graph cannot take its place.
    cudaGraph_t other;
    CUDA(cudaGraphCreate(&other, 0));
    CUDA(cudaGraphAddEmptyNode(&empty, other, nullptr, 0));
    expect(cudaGraphExecUpdate(exec, other, &info) == cudaErrorGraphExecUpdateFailure &&
               info.result == cudaGraphExecUpdateErrorTopologyChanged,
           "an update to another graph");
    cudaGetLastError();

    // A graph in a graph.
    cudaGraphNode_t child;
    CUDA(cudaGraphAddChildGraphNode(&child, other, &empty, 1, graph));
    cudaGraphExec_t outer;
    CUDA(cudaGraphInstantiate(&outer, other, 0));
    calls = 0;
    CUDA(cudaGraphLaunch(outer, stream));
    CUDA(cudaStreamSynchronize(stream));
    expect(calls == 1 && result[7] == 7 + 1 + 0x01020304 + 2, "a graph in a graph");
    // Edges must lead nowhere back.
    CUDA(cudaGraphAddDependencies(other, &child, &empty, nullptr, 1));
    expect(cudaGraphInstantiate(&outer, other, 0) == cudaErrorInvalidValue, "a cycle");
    cudaGetLastError();
    for (cudaGraphExec_t e : {exec, of_clone}) CUDA(cudaGraphExecDestroy(e));
    for (cudaGraph_t g : {graph, clone, other}) CUDA(cudaGraphDestroy(g));
    CUDA(cudaStreamDestroy(stream));
}

static void captured() {
    Buffer<int> a(n), b(n), out(n);
    iota(a);
    int calls = 0;
    cudaStream_t s, t;
    CUDA(cudaStreamCreate(&s));
    CUDA(cudaStreamCreate(&t));
    cudaEvent_t fork, join;
    CUDA(cudaEventCreate(&fork));
    CUDA(cudaEventCreate(&join));
    cudaStreamCaptureStatus status;
    CUDA(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    CUDA(cudaEventRecord(fork, s));
    CUDA(cudaStreamWaitEvent(t, fork, 0));
    add<<<2, 64, 0, s>>>(a.device, 5, n);
    CUDA(cudaMemsetAsync(b.device, 0, n * sizeof(int), t));
    add<<<2, 64, 0, t>>>(b.device, 7, n);
    CUDA(cudaStreamIsCapturing(t, &status));
    CUDA(cudaEventRecord(join, t));
    CUDA(cudaStreamWaitEvent(s, join, 0));
    sum<<<2, 64, 0, s>>>(a.device, b.device, out.device, n);
    CUDA(cudaLaunchHostFunc(s, count_call, &calls));
    cudaGraph_t graph;
    CUDA(cudaStreamEndCapture(s, &graph));
    expect(status == cudaStreamCaptureStatusActive, "a stream that captures");
    CUDA(cudaStreamIsCapturing(s, &status));
    expect(status == cudaStreamCaptureStatusNone, "a stream that has captured");
    a.download();
    expect(a[3] == 3 && calls == 0, "nothing runs while it is captured");

    cudaGraphExec_t exec;
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CUDA(cudaGraphDestroy(graph));
    for (int round = 1; round <= 2; round++) {
        CUDA(cudaGraphLaunch(exec, s));
        CUDA(cudaStreamSynchronize(s));
        out.download();
        bool right = calls == round;
        for (int i = 0; i < n; i++) right &= out[i] == i + 5 * round + 7;
        expect(right, "a captured graph");
    }

    // What cannot be captured.
    expect(cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal) == cudaErrorStreamCaptureUnsupported, "the legacy stream");
    CUDA(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    CUDA(cudaEventRecord(fork, s));
    CUDA(cudaStreamWaitEvent(t, fork, 0));
    add<<<2, 64, 0, t>>>(a.device, 5, n);
    expect(cudaStreamEndCapture(t, &graph) == cudaErrorStreamCaptureUnmatched, "the wrong end");
    expect(cudaStreamEndCapture(s, &graph) == cudaErrorStreamCaptureUnjoined, "a stream that does not come back");
    CUDA(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    expect(cudaStreamSynchronize(s) == cudaErrorStreamCaptureUnsupported, "a wait for a capture");
    expect(cudaStreamEndCapture(s, &graph) == cudaErrorStreamCaptureInvalidated, "an invalid capture");
    cudaGetLastError();
    CUDA(cudaGraphExecDestroy(exec));
}

int main() {
    by_hand();
    captured();
    return finish(all_right);
}
