//@ seeds: 0 1
//@ stderr-contains: illegal write beside the shared memory of the block in kernel `blur(float const*, float*, int)`, block (0,0,0), thread (0,1,0)
//@ stderr-contains: The address is 65472 bytes behind shared variable `tile` of size 1024
// The rows of the tile have the pitch of the image.
#include "check.h"

__global__ void blur(const float* in, float* out, int width) {
    extern __shared__ float tile[];
    int pitch = width;
    tile[threadIdx.y * pitch + threadIdx.x] = in[threadIdx.y * width + threadIdx.x];
    __syncthreads();
    out[threadIdx.y * width + threadIdx.x] = tile[threadIdx.y * pitch + (threadIdx.x + 1) % 16];
}

int main() {
    Buffer<float> in(16 * 16624), out(16 * 16624);
    blur<<<1, dim3(16, 16), 16 * 16 * sizeof(float)>>>(in.device, out.device, 16624);
    cudaError_t error = cudaDeviceSynchronize();
    // Compiled without gpurace, the program writes what lies there.
    return finish(error == cudaErrorIllegalAddress || error == cudaSuccess);
}
