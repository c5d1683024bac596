//@ revisions: racy fixed
//@[racy] findings: host
// The host fills a page-locked buffer again while the copy from it may still run.
#include "check.h"

__global__ void twice(int* data) { data[threadIdx.x] *= 2; }

int main() {
    int *buffer, *data;
    CUDA(cudaMallocHost(&buffer, 64 * sizeof(int)));
    CUDA(cudaMalloc(&data, 64 * sizeof(int)));
    cudaStream_t stream;
    CUDA(cudaStreamCreate(&stream));
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 64; i++) {
            buffer[i] = round + i; //~ WRITE
        }
        CUDA(cudaMemcpyAsync(data, buffer, 64 * sizeof(int), cudaMemcpyHostToDevice, stream)); //~ COPY
        twice<<<1, 64, 0, stream>>>(data);
#ifdef FIXED
        CUDA(cudaStreamSynchronize(stream));
#endif
    }
    CUDA(cudaStreamSynchronize(stream));
    int last = 0;
    CUDA(cudaMemcpy(&last, data + 63, sizeof last, cudaMemcpyDeviceToHost));
    CUDA(cudaFreeHost(buffer));
    CUDA(cudaFree(data));
    return finish(last == 2 * (2 + 63));
}
//~ RACE[racy] copy-host global system: COPY WRITE
