// One buffer is filled while the copy of another one runs. The host may also read what a copy reads, use bytes beside
// a copy's, wait for an event after the copy, wait by a query, or let a kernel with fences tell it.
#include "check.h"

const int n = 1000;

__global__ void add(int* sum, const int* data) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) sum[i] += data[i];
}

__global__ void tell(volatile int* flag) {
    __threadfence_system();
    *flag = 1;
}

int main() {
    int *buffers[2], *data[2], *sum;
    cudaEvent_t copied[2];
    for (int i = 0; i < 2; i++) {
        CUDA(cudaMallocHost(&buffers[i], n * sizeof(int)));
        CUDA(cudaMalloc(&data[i], n * sizeof(int)));
        CUDA(cudaEventCreate(&copied[i]));
    }
    CUDA(cudaMalloc(&sum, n * sizeof(int)));
    CUDA(cudaMemset(sum, 0, n * sizeof(int)));
    cudaStream_t stream;
    CUDA(cudaStreamCreate(&stream));
    for (int round = 0; round < 6; round++) {
        int at = round % 2;
        CUDA(cudaEventSynchronize(copied[at]));
        for (int i = 0; i < n; i++) buffers[at][i] = round + i;
        CUDA(cudaMemcpyAsync(data[at], buffers[at], n * sizeof(int), cudaMemcpyHostToDevice, stream));
        CUDA(cudaEventRecord(copied[at], stream));
        // The copy reads it too.
        if (buffers[at][7] != round + 7) return finish(false);
        add<<<4, 256, 0, stream>>>(sum, data[at]);
    }
    int* result;
    CUDA(cudaMallocHost(&result, n * sizeof(int)));
    CUDA(cudaMemcpyAsync(result, sum, 500 * sizeof(int), cudaMemcpyDeviceToHost, stream));
    // The copy does not touch these bytes.
    result[500] = 1;
    while (cudaStreamQuery(stream) == cudaErrorNotReady) {
    }
    bool passed = result[3] == 15 + 6 * 3;

    // A kernel after the copy tells the host that it runs.
    int* flag;
    CUDA(cudaMallocHost(&flag, sizeof(int)));
    *flag = 0;
    CUDA(cudaMemcpyAsync(result, sum, n * sizeof(int), cudaMemcpyDeviceToHost, stream));
    tell<<<1, 1, 0, stream>>>(flag);
    while (*(volatile int*)flag == 0) {
    }
    passed = passed && result[4] == 15 + 6 * 4;

    // Freed memory is not that of the copies any more.
    CUDA(cudaMemcpyAsync(data[1], buffers[1], n * sizeof(int), cudaMemcpyHostToDevice, stream));
    CUDA(cudaFreeHost(buffers[1]));
    CUDA(cudaMallocHost(&buffers[1], n * sizeof(int)));
    buffers[1][0] = 1;
    CUDA(cudaDeviceSynchronize());
    return finish(passed);
}
