// Copies and kernels of two streams overlap, each on a half of one buffer.
#include "check.h"

__global__ void twice(int* data) { data[blockIdx.x * 64 + threadIdx.x] *= 2; }

int main() {
    const int half = 256;
    int *data, *host;
    cudaStream_t streams[2];
    CUDA(cudaMalloc(&data, 2 * half * sizeof(int)));
    CUDA(cudaMallocHost(&host, 2 * half * sizeof(int)));
    for (int i = 0; i < 2 * half; i++) host[i] = i;
    for (cudaStream_t& stream : streams) CUDA(cudaStreamCreate(&stream));
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 2; i++) {
            int *from = host + i * half, *to = data + i * half;
            CUDA(cudaMemcpyAsync(to, from, half * sizeof(int), cudaMemcpyHostToDevice, streams[i]));
            twice<<<half / 64, 64, 0, streams[i]>>>(to);
            CUDA(cudaMemcpyAsync(from, to, half * sizeof(int), cudaMemcpyDeviceToHost, streams[i]));
        }
    }
    SYNC();
    bool right = true;
    for (int i = 0; i < 2 * half; i++) right &= host[i] == 8 * i;
    return finish(right);
}
