// What programs ask of a device before they launch.
#include "check.h"

__global__ void __launch_bounds__(128) kernel(int* out) {
    __shared__ int tile[256];
    tile[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x];
}

int main() {
    int count = 0, device = -1, warp = 0, blocks = 0, driver = 0, runtime = 0, minimum = 0, size = 0;
    cudaDeviceProp p;
    cudaFuncAttributes attributes;
    size_t available = 0, total = 0;
    CUDA(cudaGetDeviceCount(&count));
    CUDA(cudaSetDevice(0));
    CUDA(cudaGetDevice(&device));
    CUDA(cudaGetDeviceProperties(&p, 0));
    CUDA(cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, 0));
    CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 128, 0));
    CUDA(cudaOccupancyMaxPotentialBlockSize(&minimum, &size, kernel, 0, 0));
    CUDA(cudaFuncGetAttributes(&attributes, kernel));
    CUDA(cudaDriverGetVersion(&driver));
    CUDA(cudaRuntimeGetVersion(&runtime));
    CUDA(cudaMemGetInfo(&available, &total));
    bool right = count >= 1 && device == 0 && warp == 32 && p.warpSize == 32;
    right &= p.major >= 8 && p.maxThreadsPerBlock == 1024 && p.sharedMemPerBlock >= 48 << 10;
    right &= p.multiProcessorCount > 0 && p.totalGlobalMem > 0 && p.name[0] != 0;
    right &= blocks > 0 && minimum > 0 && size > 0 && size <= 128 && driver >= 12000 && runtime >= 12000;
    right &= attributes.sharedSizeBytes == 1024 && attributes.maxThreadsPerBlock == 128;
    return finish(right && available > 0 && total >= available);
}
