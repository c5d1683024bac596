// Indices and dimensions in three dimensions, lanes and warps.
#include "check.h"

__global__ void index(int* out) {
    int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    int size = blockDim.x * blockDim.y * blockDim.z;
    unsigned lane, below;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
    out[block * size + thread] = lane == thread % 32 && below == (1u << lane) - 1 && warpSize == 32
                                     ? block * 1000 + thread
                                     : -1;
}

int main() {
    Buffer<int> out(2 * 3 * 4 * 60);
    index<<<dim3(2, 3, 4), dim3(5, 4, 3)>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int b = 0; b < 24; b++)
        for (int t = 0; t < 60; t++) right &= out[b * 60 + t] == b * 1000 + t;
    return finish(right);
}
