//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// Handles that a kernel loads from constant and global memory. Each block smooths its own layer in place; the block below is
// read, too, where the layer is the wrong one.
#include "check.h"

struct View {
    cudaTextureObject_t texture;
    cudaSurfaceObject_t surface;
};
__constant__ View view;
__device__ View views[2];

__global__ void smooth(int which) {
    int layer = blockIdx.x, x = threadIdx.x;
    const View& of = which ? views[which - 1] : view;
#ifdef FIXED
    int from = layer;
#else
    int from = layer == 0 ? 1 : layer;
#endif
    float left = tex2DLayered<float>(of.texture, x, 0.5f, from); //~ A
    __syncthreads();
    surf2DLayeredwrite(left, of.surface, x * 4, 0, layer); //~ B
}
//~ RACE[racy] read-write|write-read global grid: A B

int main() {
    const int n = 32, layers = 2;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    CUDA(cudaMalloc3DArray(&array, &format, make_cudaExtent(n, 1, layers), cudaArrayLayered | cudaArraySurfaceLoadStore));
    float data[layers][n], found[layers][n];
    for (int i = 0; i < layers * n; i++) data[0][i] = float(i);
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(data, sizeof data[0], n, 1);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(n, 1, layers);
    copy.kind = cudaMemcpyHostToDevice;
    CUDA(cudaMemcpy3D(&copy));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc desc = {};
    desc.filterMode = cudaFilterModeLinear;
    for (auto& mode : desc.addressMode) mode = cudaAddressModeClamp;
    View made;
    CUDA(cudaCreateTextureObject(&made.texture, &resource, &desc, nullptr));
    CUDA(cudaCreateSurfaceObject(&made.surface, &resource));
    CUDA(cudaMemcpyToSymbol(view, &made, sizeof made));
    CUDA(cudaMemcpyToSymbol(views, &made, sizeof made, sizeof made));
    for (int which : {0, 2}) smooth<<<layers, n>>>(which);
    SYNC();
    copy = {};
    copy.srcArray = array;
    copy.dstPtr = make_cudaPitchedPtr(found, sizeof found[0], n, 1);
    copy.extent = make_cudaExtent(n, 1, layers);
    copy.kind = cudaMemcpyDeviceToHost;
    CUDA(cudaMemcpy3D(&copy));
    bool right = true;
    // Half a texel to the left, twice; the first one has no left neighbour.
    for (int layer = 0; layer < layers; layer++) {
        float once[n];
        for (int i = 0; i < n; i++) once[i] = (data[layer][i] + data[layer][i ? i - 1 : 0]) / 2;
        for (int i = 0; i < n; i++) right &= found[layer][i] == (once[i] + once[i ? i - 1 : 0]) / 2;
    }
    return finish(right);
}
