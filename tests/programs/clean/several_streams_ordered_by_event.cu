// Work of two streams, ordered by an event.
#include "check.h"

__global__ void produce(int* data) { data[threadIdx.x] = threadIdx.x; }
__global__ void consume(const int* data, int* out) { out[threadIdx.x] = data[63 - threadIdx.x]; }

int main() {
    Buffer<int> data(64), out(64);
    cudaStream_t first, second;
    cudaEvent_t ready;
    CUDA(cudaStreamCreate(&first));
    CUDA(cudaStreamCreate(&second));
    CUDA(cudaEventCreate(&ready));
    produce<<<1, 64, 0, first>>>(data.device);
    CUDA(cudaEventRecord(ready, first));
    CUDA(cudaStreamWaitEvent(second, ready, 0));
    consume<<<1, 64, 0, second>>>(data.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == 63 - i;
    CUDA(cudaEventDestroy(ready));
    CUDA(cudaStreamDestroy(first));
    CUDA(cudaStreamDestroy(second));
    return finish(right);
}
