// Surfaces move elements of each size, in one to three dimensions and in layers; what lies outside is zero, clamped or
// left alone, as the boundary mode says. A texture of the same array shows what was written.
#include <vector>
#include "check.h"

template <class T>
__global__ void square(cudaSurfaceObject_t in, cudaSurfaceObject_t out, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    T v = surf2Dread<T>(in, x * int(sizeof(T)), y), again;
    surf2Dread(&again, in, x * int(sizeof(T)), y);
    v.x = v.x * again.x;
    v.y = v.y + 1;
    surf2Dwrite(v, out, x * int(sizeof(T)), y);
}

template <class T>
static bool two_dimensions() {
    const int w = 37, h = 19;
    std::vector<T> data(w * h), found(w * h);
    for (int i = 0; i < w * h; i++) data[i].x = i % 11, data[i].y = i % 7;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<T>();
    cudaSurfaceObject_t surfaces[2];
    cudaArray_t arrays[2];
    for (int k = 0; k < 2; k++) {
        CUDA(cudaMallocArray(&arrays[k], &format, w, h, cudaArraySurfaceLoadStore));
        cudaResourceDesc resource = {};
        resource.resType = cudaResourceTypeArray;
        resource.res.array.array = arrays[k];
        CUDA(cudaCreateSurfaceObject(&surfaces[k], &resource));
    }
    size_t row = w * sizeof(T);
    CUDA(cudaMemcpy2DToArray(arrays[0], 0, 0, data.data(), row, row, h, cudaMemcpyHostToDevice));
    square<T><<<dim3(3, 3), dim3(16, 8)>>>(surfaces[0], surfaces[1], w, h);
    SYNC();
    CUDA(cudaMemcpy2DFromArray(found.data(), row, arrays[1], 0, 0, row, h, cudaMemcpyDeviceToHost));
    bool right = true;
    for (int i = 0; i < w * h; i++) {
        right &= found[i].x == data[i].x * data[i].x && found[i].y == data[i].y + 1;
    }
    for (int k = 0; k < 2; k++) {
        CUDA(cudaDestroySurfaceObject(surfaces[k]));
        CUDA(cudaFreeArray(arrays[k]));
    }
    return right;
}

__global__ void edges(cudaSurfaceObject_t s, cudaSurfaceObject_t volume, cudaSurfaceObject_t layers, int* out) {
    int t = threadIdx.x;
    // Element t - 4 of 8.
    out[t] = surf1Dread<int>(s, (t - 4) * 4, cudaBoundaryModeZero);
    out[16 + t] = surf1Dread<int>(s, (t - 4) * 4, cudaBoundaryModeClamp);
    surf3Dwrite(100 + t, volume, (t & 1) * 4, t >> 1 & 1, t >> 2, cudaBoundaryModeZero);
    surf2DLayeredwrite<unsigned char>(t, layers, t & 3, t >> 2 & 1, t >> 3);
    out[32 + t] = t < 8 ? surf3Dread<int>(volume, (t & 1) * 4, t >> 1 & 1, t >> 2) : 0;
    out[48 + t] = surf2DLayeredread<unsigned char>(layers, t & 3, t >> 2 & 1, t >> 3);
}

static cudaSurfaceObject_t make(cudaArray_t* array, cudaChannelFormatDesc format, cudaExtent extent, unsigned flags) {
    CUDA(cudaMalloc3DArray(array, &format, extent, flags | cudaArraySurfaceLoadStore));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = *array;
    cudaSurfaceObject_t surface = 0;
    CUDA(cudaCreateSurfaceObject(&surface, &resource));
    return surface;
}

static bool other_shapes() {
    cudaArray_t line, volume, layers;
    auto s = make(&line, cudaCreateChannelDesc<int>(), make_cudaExtent(8, 0, 0), 0);
    auto v = make(&volume, cudaCreateChannelDesc<int>(), make_cudaExtent(2, 2, 2), 0);
    auto l = make(&layers, cudaCreateChannelDesc<unsigned char>(), make_cudaExtent(4, 2, 2), cudaArrayLayered);
    int data[8];
    for (int i = 0; i < 8; i++) data[i] = 10 + i;
    CUDA(cudaMemcpy2DToArray(line, 0, 0, data, sizeof data, sizeof data, 1, cudaMemcpyHostToDevice));
    Buffer<int> out(64);
    edges<<<1, 16>>>(s, v, l, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int t = 0; t < 16; t++) {
        int i = t - 4;
        right &= out[t] == (i < 0 || i > 7 ? 0 : data[i]);
        right &= out[16 + t] == data[i < 0 ? 0 : i > 7 ? 7 : i];
        right &= out[32 + t] == (t < 8 ? 100 + t : 0);
        right &= out[48 + t] == t;
    }
    return right;
}

int main() {
    bool right = two_dimensions<float2>() && two_dimensions<int4>() && two_dimensions<uchar2>();
    right = two_dimensions<short2>() && right;
    return finish(other_shapes() && right);
}
