//@ opt: O1
//@ seeds: 0
//@ compile-flags: -lcusolver
// Captured calls are nodes. Each launch factors the values of its time, also after the handle was destroyed.
#include "solver.h"

const int N = 3;

__global__ void fill(double* a, double* b, double* step) {
    int row = threadIdx.x;
    step[row] += 1;
    for (int column = 0; column < N; column++) a[column * N + row] = row == column ? 2 * step[row] : 0;
    b[row] = row + 1;
}

int main() {
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t instance;
    Buffer<double> a(N * N), b(N), step(N), work(256);
    Buffer<int> pivots(N), info(1);
    cusolverDnHandle_t handle;
    CUDA(cudaStreamCreate(&stream));
    CUDA(cusolverDnCreate(&handle));
    CUDA(cusolverDnSetStream(handle, stream));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    fill<<<1, N, 0, stream>>>(a.device, b.device, step.device);
    CUDA(cusolverDnDgetrf(handle, N, N, a.device, N, work.device, pivots.device, info.device));
    CUDA(cusolverDnDgetrs(handle, CUBLAS_OP_N, N, 1, a.device, N, pivots.device, b.device, N, info.device));
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&instance, graph, 0));
    CUDA(cusolverDnDestroy(handle));
    bool right = true;
    for (int i = 1; i < 3; i++) {
        CUDA(cudaGraphLaunch(instance, stream));
        CUDA(cudaStreamSynchronize(stream));
        b.download();
        for (int row = 0; row < N; row++) right &= b[row] == (row + 1) / (2.0 * i);
    }
    return finish(right);
}
