// Streams, events and their elapsed time, callbacks in stream order.
#include "check.h"

__global__ void add(int* data, int value) { data[threadIdx.x] += value; }

static void CUDART_CB note(void* place) { *static_cast<int*>(place) += 1; }

int main() {
    cudaStream_t streams[2];
    cudaEvent_t start, stop;
    CUDA(cudaStreamCreate(&streams[0]));
    CUDA(cudaStreamCreateWithFlags(&streams[1], cudaStreamNonBlocking));
    CUDA(cudaEventCreate(&start));
    CUDA(cudaEventCreateWithFlags(&stop, cudaEventBlockingSync));
    Buffer<int> a(32), b(32);
    CUDA(cudaDeviceSynchronize());
    int notes = 0;
    CUDA(cudaEventRecord(start, streams[0]));
    for (int k = 0; k < 10; k++) add<<<1, 32, 0, streams[0]>>>(a.device, k);
    add<<<1, 32, 0, streams[1]>>>(b.device, 5);
    CUDA(cudaLaunchHostFunc(streams[0], note, &notes));
    CUDA(cudaEventRecord(stop, streams[0]));
    CUDA(cudaEventSynchronize(stop));
    float milliseconds = -1;
    CUDA(cudaEventElapsedTime(&milliseconds, start, stop));
    CUDA(cudaStreamSynchronize(streams[1]));
    bool right = cudaStreamQuery(streams[0]) == cudaSuccess && cudaEventQuery(stop) == cudaSuccess;
    a.download(), b.download();
    right &= milliseconds >= 0 && notes == 1 && a[3] == 45 && b[31] == 5;
    CUDA(cudaEventDestroy(start));
    CUDA(cudaEventDestroy(stop));
    for (auto stream : streams) CUDA(cudaStreamDestroy(stream));
    return finish(right);
}
