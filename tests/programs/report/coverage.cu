// What of a run is shown; the suite `reports` says which accesses never ran.
#include "check.h"

__device__ int total;

__global__ void modes(int* data, int n, int mode) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = data[t]; // proved
    __syncthreads();
    if (mode == 7) {
        data[t] = tile[63 - t]; // excluded by the argument
        atomicAdd(&total, 1);   // excluded by the argument
    }
    if (t > 1000) data[n] = 3;                          // excluded by the shape
    if (data[t] < 0) data[data[t] & 63] = 3;            // excluded by the data
    for (int i = t; i < n; i += 64) data[data[i]] += 1; // checked
}

__global__ void all_proved(int* data, int last) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i] += 1; // proved
    if (last < 0) data[i + 1] = 2; // excluded by the argument
    if (i * i == 7) data[i] = 2;   // left open
}

__global__ void unused(int* data) { data[threadIdx.x] = 1; } // never launched

int main() {
    Buffer<int> data(256);
    for (int i = 0; i < 64; i++) data.host[i] = i;
    data.upload();
    modes<<<1, 64>>>(data.device, 64, 0);
    all_proved<<<2, 64>>>(data.device, 0);
    SYNC();
    return 0;
}
