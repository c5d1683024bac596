// Every way in which a copy or fill is ordered with a kernel on the same bytes.
#include "check.h"

__global__ void increment(int* data) { data[threadIdx.x]++; }

int main() {
    const size_t bytes = 64 * sizeof(int);
    int *data, *other, *locked;
    int pageable[64] = {};
    cudaStream_t first, second, alone;
    cudaEvent_t event;
    CUDA(cudaMalloc(&data, bytes));
    CUDA(cudaMalloc(&other, bytes));
    CUDA(cudaMallocHost(&locked, bytes));
    CUDA(cudaStreamCreate(&first));
    CUDA(cudaStreamCreate(&second));
    CUDA(cudaStreamCreateWithFlags(&alone, cudaStreamNonBlocking));
    CUDA(cudaEventCreate(&event));

    // The default stream waits for blocking streams, and they for it.
    CUDA(cudaMemset(data, 0, bytes));
    increment<<<1, 64, 0, first>>>(data);
    CUDA(cudaMemcpyAsync(locked, data, bytes, cudaMemcpyDeviceToHost));
    increment<<<1, 64, 0, second>>>(data);
    SYNC();

    // One stream.
    increment<<<1, 64, 0, alone>>>(data);
    CUDA(cudaMemcpyAsync(locked, data, bytes, cudaMemcpyDeviceToHost, alone));
    CUDA(cudaMemcpyAsync(data, locked, bytes, cudaMemcpyHostToDevice, alone));
    increment<<<1, 64, 0, alone>>>(data);

    // An event, and the other way round.
    CUDA(cudaEventRecord(event, alone));
    CUDA(cudaStreamWaitEvent(first, event, 0));
    CUDA(cudaMemcpyAsync(other, data, bytes, cudaMemcpyDeviceToDevice, first));
    CUDA(cudaEventRecord(event, first));
    CUDA(cudaStreamWaitEvent(alone, event, 0));
    increment<<<1, 64, 0, alone>>>(data);
    increment<<<1, 64, 0, alone>>>(other);

    // The host waits for the event, for the stream.
    CUDA(cudaEventRecord(event, alone));
    CUDA(cudaEventSynchronize(event));
    CUDA(cudaMemsetAsync(data, 0, bytes, second));
    CUDA(cudaStreamSynchronize(second));
    increment<<<1, 64, 0, first>>>(data);
    while (cudaStreamQuery(first) != cudaSuccess) {}
    CUDA(cudaMemsetAsync(data, 0, bytes, alone));
    SYNC();

    // The host waits for what comes from or goes to its own memory.
    CUDA(cudaMemcpy(data, pageable, bytes, cudaMemcpyHostToDevice));
    increment<<<1, 64, 0, alone>>>(data);
    CUDA(cudaMemcpyAsync(pageable, data, bytes, cudaMemcpyDeviceToHost, alone));
    increment<<<1, 64, 0, first>>>(data);
    SYNC();
    return finish(pageable[63] == 1);
}
