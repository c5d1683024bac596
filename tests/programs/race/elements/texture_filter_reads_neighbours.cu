//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// A linear filter mixes two texels, so a fetch between them reads what the neighbour stores through the surface. At a
// texel's centre the other has no weight, and is not read.
#include "check.h"

__global__ void blur(cudaTextureObject_t texture, cudaSurfaceObject_t surface) {
    int i = threadIdx.x;
#ifdef FIXED
    float at = i + 0.5f;
#else
    float at = i + 1.0f;
#endif
    float value = tex1D<float>(texture, at); //~ A
    surf1Dwrite(value + 1, surface, i * 4);  //~ B
}
//~ RACE[racy] read-write|write-read global: A B

int main() {
    const int n = 64;
    float data[n];
    for (int i = 0; i < n; i++) data[i] = float(i);
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array = nullptr;
    CUDA(cudaMallocArray(&array, &format, n, 0, cudaArraySurfaceLoadStore));
    CUDA(cudaMemcpy2DToArray(array, 0, 0, data, sizeof data, sizeof data, 1, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc desc = {};
    desc.filterMode = cudaFilterModeLinear;
    desc.addressMode[0] = cudaAddressModeClamp;
    cudaTextureObject_t texture = 0;
    cudaSurfaceObject_t surface = 0;
    CUDA(cudaCreateTextureObject(&texture, &resource, &desc, nullptr));
    CUDA(cudaCreateSurfaceObject(&surface, &resource));
    blur<<<1, n>>>(texture, surface);
    SYNC();
    CUDA(cudaMemcpy2DFromArray(data, sizeof data, array, 0, 0, sizeof data, 1, cudaMemcpyDeviceToHost));
    bool right = true;
    for (int i = 0; i < n; i++) right &= data[i] == i + 1;
    return finish(right);
}
