//@ compile-flags: -pthread
// Several host threads launch at once, each in a stream of its own.
#include <thread>
#include "check.h"

__global__ void add(int* data, int value) {
    __shared__ int tile[64];
    tile[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = tile[63 - threadIdx.x] + value;
}

int main() {
    const int n = 4;
    bool right[n] = {};
    std::thread threads[n];
    for (int k = 0; k < n; k++)
        threads[k] = std::thread([k, &right] {
            cudaStream_t stream;
            CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
            Buffer<int> data(64);
            for (int i = 0; i < 50; i++) add<<<1, 64, 0, stream>>>(data.device, k);
            CUDA(cudaStreamSynchronize(stream));
            data.download();
            right[k] = data[0] == 50 * k && data[63] == 50 * k;
            CUDA(cudaStreamDestroy(stream));
        });
    bool all = true;
    for (int k = 0; k < n; k++) {
        threads[k].join();
        all &= right[k];
    }
    return finish(all);
}
