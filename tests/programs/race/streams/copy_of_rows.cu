//@ revisions: racy fixed
//@[racy] findings: unordered-operations
// A copy of a rectangle touches its rows, not what lies between them.
#include "check.h"

__global__ void write_column(int* image, int pitch, int column) {
    image[threadIdx.x * pitch + column] = 1; //~ WRITE
}

int main() {
    int *image, *host;
    cudaStream_t first, second;
    CUDA(cudaMalloc(&image, 8 * 16 * sizeof(int)));
    CUDA(cudaMallocHost(&host, 8 * 16 * sizeof(int)));
    CUDA(cudaStreamCreate(&first));
    CUDA(cudaStreamCreate(&second));
    // Columns 4 to 11.
    CUDA(cudaMemcpy2DAsync(image + 4, 16 * sizeof(int), host, 8 * sizeof(int), 8 * sizeof(int), 8, cudaMemcpyHostToDevice, first)); //~ COPY
#ifdef FIXED
    write_column<<<1, 8, 0, second>>>(image, 16, 3);
    write_column<<<1, 8, 0, second>>>(image, 16, 12);
#else
    write_column<<<1, 8, 0, second>>>(image, 16, 11);
#endif
    SYNC();
    return finish(true);
}
//~ RACE[racy] copy-write global device: COPY WRITE
