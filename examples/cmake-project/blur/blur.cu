#include "blur.h"

__global__ void blur_block(int* numbers) {
    __shared__ int line[256];
    int t = threadIdx.x;
    line[t] = numbers[t];
#ifdef FIXED
    __syncthreads();
#endif
    numbers[t] = (line[(t + 255) % 256] + line[t] + line[(t + 1) % 256]) / 3;
}

bool blur(int* numbers) {
    int* device;
    if (cudaMalloc(&device, 256 * sizeof(int)) != cudaSuccess) return false;
    cudaMemcpy(device, numbers, 256 * sizeof(int), cudaMemcpyHostToDevice);
    blur_block<<<1, 256>>>(device);
    bool worked = cudaMemcpy(numbers, device, 256 * sizeof(int), cudaMemcpyDeviceToHost) == cudaSuccess;
    cudaFree(device);
    return worked;
}
