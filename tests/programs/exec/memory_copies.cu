// Copies and memsets: pitched, two- and three-dimensional, pinned, asynchronous.
#include "check.h"

__global__ void fill(char* rows, size_t pitch) { rows[blockIdx.x * pitch + threadIdx.x] = blockIdx.x * 16 + threadIdx.x; }

int main() {
    char *rows, host[8][16] = {}, back[8][16] = {}, *pinned, *mapped;
    size_t pitch = 0;
    CUDA(cudaMallocPitch(&rows, &pitch, 16, 8));
    CUDA(cudaMemset2D(rows, pitch, 0x55, 16, 8));
    fill<<<8, 12>>>(rows, pitch);
    CUDA(cudaMemcpy2D(host, 16, rows, pitch, 16, 8, cudaMemcpyDeviceToHost));
    bool right = pitch >= 16;
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 16; x++) right &= host[y][x] == (x < 12 ? y * 16 + x : 0x55);
    CUDA(cudaMemcpy2DAsync(rows, pitch, &host[1][0], 16, 8, 4, cudaMemcpyHostToDevice, 0));
    CUDA(cudaMemcpy2D(back, 16, rows, pitch, 16, 8, cudaMemcpyDefault));
    right &= back[0][7] == 23 && back[0][8] == 8 && back[3][0] == 64 && back[4][0] == 64;

    CUDA(cudaMallocHost(&pinned, 64));
    CUDA(cudaHostAlloc(&mapped, 64, cudaHostAllocMapped));
    char* seen;
    CUDA(cudaHostGetDevicePointer(&seen, mapped, 0));
    memset(pinned, 7, 64);
    CUDA(cudaMemcpyAsync(seen, pinned, 64, cudaMemcpyDefault, 0));
    SYNC();
    right &= mapped[63] == 7;

    cudaExtent extent = make_cudaExtent(8, 4, 2);
    cudaPitchedPtr volume;
    CUDA(cudaMalloc3D(&volume, extent));
    CUDA(cudaMemset3D(volume, 3, extent));
    char cube[2][4][8] = {};
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = volume;
    copy.dstPtr = make_cudaPitchedPtr(cube, 8, 8, 4);
    copy.extent = make_cudaExtent(8, 4, 1);
    copy.kind = cudaMemcpyDeviceToHost;
    CUDA(cudaMemcpy3D(&copy));
    right &= cube[0][3][7] == 3 && cube[1][0][0] == 0;
    CUDA(cudaFreeHost(pinned));
    CUDA(cudaFreeHost(mapped));
    CUDA(cudaFree(volume.ptr));
    CUDA(cudaFree(rows));
    return finish(right);
}
