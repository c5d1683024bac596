//@ revisions: racy fixed
// A stream that is made after a launch does not wait for it either.
//@[racy] known-miss: a new stream counts as ordered after all earlier work
#include "check.h"

__global__ void write(int* data) { data[threadIdx.x] = 1; } //~ WRITE
__global__ void read(const int* data, int* out) { out[threadIdx.x] = data[threadIdx.x]; } //~ READ

int main() {
    int *data, *out;
    cudaStream_t first, second;
    CUDA(cudaMalloc(&data, 32 * sizeof(int)));
    CUDA(cudaMalloc(&out, 32 * sizeof(int)));
    CUDA(cudaStreamCreate(&first));
    write<<<1, 32, 0, first>>>(data);
#ifdef FIXED
    SYNC();
#endif
    CUDA(cudaStreamCreate(&second));
    read<<<1, 32, 0, second>>>(data, out);
    SYNC();
    return finish(true);
}
//~ RACE[racy] write-read global device: WRITE READ
