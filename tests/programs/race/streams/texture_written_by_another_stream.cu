//@ revisions: racy fixed
//@[racy] findings: unordered-operations
// A kernel fetches from an array into which a kernel of another stream stores: an event between the two is what orders them.
#include "check.h"

__global__ void fill(cudaSurfaceObject_t surface) {
    int i = threadIdx.x;
    surf1Dwrite(i + 1, surface, i * 4); //~ A
}

__global__ void read(cudaTextureObject_t texture, int* out) {
    int i = threadIdx.x;
    out[i] = tex1D<int>(texture, i + 0.5f); //~ B
}
//~ RACE[racy] read-write|write-read global device: A B

int main() {
    const int n = 32;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
    cudaArray_t array;
    CUDA(cudaMallocArray(&array, &format, n, 0, cudaArraySurfaceLoadStore));
    Buffer<int> out(n);
    CUDA(cudaMemcpy2DToArray(array, 0, 0, out.device, n * 4, n * 4, 1, cudaMemcpyDeviceToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc desc = {};
    cudaTextureObject_t texture;
    cudaSurfaceObject_t surface;
    CUDA(cudaCreateTextureObject(&texture, &resource, &desc, nullptr));
    CUDA(cudaCreateSurfaceObject(&surface, &resource));
    SYNC();
    cudaStream_t first, second;
    CUDA(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    fill<<<1, n, 0, first>>>(surface);
#ifdef FIXED
    cudaEvent_t filled;
    CUDA(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));
    CUDA(cudaEventRecord(filled, first));
    CUDA(cudaStreamWaitEvent(second, filled, 0));
#endif
    read<<<1, n, 0, second>>>(texture, out.device);
    SYNC();
    out.download();
    bool right = true;
#ifdef FIXED
    for (int i = 0; i < n; i++) right &= out[i] == i + 1;
#endif
    return finish(right);
}
