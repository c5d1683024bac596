//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// Blocks share rows of a surface: each stores one row and loads the row above, which another block stores.
#include "check.h"

__global__ void sweep(cudaSurfaceObject_t in, cudaSurfaceObject_t out) {
    int x = threadIdx.x * 4, y = blockIdx.x;
    int above = surf2Dread<int>(in, x, y - 1, cudaBoundaryModeZero); //~ A
    surf2Dwrite(above + 1, out, x, y);                               //~ B
}
//~ RACE[racy] read-write|write-read global grid: A B

static cudaSurfaceObject_t make(cudaArray_t* array, const int* data) {
    cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
    CUDA(cudaMallocArray(array, &format, 32, 4, cudaArraySurfaceLoadStore));
    CUDA(cudaMemcpy2DToArray(*array, 0, 0, data, 128, 128, 4, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = *array;
    cudaSurfaceObject_t surface = 0;
    CUDA(cudaCreateSurfaceObject(&surface, &resource));
    return surface;
}

int main() {
    int data[128], found[128];
    for (int i = 0; i < 128; i++) data[i] = i;
    cudaArray_t from, to;
    cudaSurfaceObject_t in = make(&from, data), out = make(&to, data);
#ifdef FIXED
    sweep<<<4, 32>>>(in, out);
#else
    sweep<<<4, 32>>>(in, in);
#endif
    SYNC();
    CUDA(cudaMemcpy2DFromArray(found, 128, to, 0, 0, 128, 4, cudaMemcpyDeviceToHost));
    bool right = true;
    for (int i = 0; i < 128; i++) right &= found[i] == (i < 32 ? 1 : data[i - 32] + 1);
    return finish(right);
}
