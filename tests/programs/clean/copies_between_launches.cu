// Copies and memsets of the default stream are ordered with its launches.
#include "check.h"

__global__ void twice(int* data) { data[threadIdx.x] *= 2; }
__global__ void reversed(const int* from, int* to) { to[threadIdx.x] = from[63 - threadIdx.x]; }

int main() {
    Buffer<int> a(64), b(64);
    iota(a);
    twice<<<1, 64>>>(a.device);
    CUDA(cudaMemcpy(b.device, a.device, 64 * sizeof(int), cudaMemcpyDeviceToDevice));
    twice<<<1, 64>>>(b.device);
    CUDA(cudaMemsetAsync(a.device, 0, 64 * sizeof(int)));
    reversed<<<1, 64>>>(b.device, a.device);
    CUDA(cudaMemcpyAsync(b.device, a.device, 64 * sizeof(int), cudaMemcpyDeviceToDevice));
    twice<<<1, 64>>>(a.device);
    SYNC();
    a.download();
    b.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= b[i] == 4 * (63 - i) && a[i] == 8 * (63 - i);
    return finish(right);
}
