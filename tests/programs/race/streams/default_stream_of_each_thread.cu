//@ revisions: racy fixed
//@[racy] compile-flags: -fgpu-default-stream=per-thread
//@[racy] findings: unordered-operations
// The legacy default stream waits for all blocking streams, and they for it. With
// one default stream for each host thread, nothing orders it and another stream.
#include "check.h"

__global__ void fill(int* data, int value) { data[threadIdx.x] = value; } //~ A
__global__ void twice(int* data) { data[threadIdx.x] *= 2; } //~ B

int main() {
    Buffer<int> data(32);
    cudaStream_t stream;
    CUDA(cudaStreamCreate(&stream));
    fill<<<1, 32, 0, stream>>>(data.device, 4);
    twice<<<1, 32>>>(data.device);
    SYNC();
    CUDA(cudaMemset(data.device, 0, 4));
    fill<<<1, 32>>>(data.device, 3);
    CUDA(cudaMemcpy(data.host, data.device, 32 * sizeof(int), cudaMemcpyDefault));
    bool right = true;
    for (int i = 0; i < 32; i++) right &= data.host[i] == 3;
    return finish(right);
}
//~ RACE[racy] write-read|write-write global device: A B
