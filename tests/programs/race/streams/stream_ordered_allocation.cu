//@ revisions: used_elsewhere freed_elsewhere fixed
//@[used_elsewhere] findings: unordered-operations
//@[freed_elsewhere] findings: unordered-operations
// Memory that a stream allocates is used on another stream, which has to wait for it, and freed on a stream that has
// to wait for its last use.
#include "check.h"

__global__ void write(int* data) { data[threadIdx.x] = 1; } //~ WRITE
__global__ void read(const int* data, int* out) { out[threadIdx.x] = data[threadIdx.x]; } //~ READ

int main() {
    int *data, *out;
    cudaStream_t first, second;
    cudaEvent_t written, used;
    CUDA(cudaStreamCreate(&first));
    CUDA(cudaStreamCreate(&second));
    CUDA(cudaEventCreate(&written));
    CUDA(cudaEventCreate(&used));
    CUDA(cudaMalloc(&out, 32 * sizeof(int)));
    CUDA(cudaMallocAsync(&data, 32 * sizeof(int), first));
    write<<<1, 32, 0, first>>>(data);
    CUDA(cudaEventRecord(written, first));
#ifndef USED_ELSEWHERE
    CUDA(cudaStreamWaitEvent(second, written, 0));
#endif
    read<<<1, 32, 0, second>>>(data, out);
    CUDA(cudaEventRecord(used, second));
#ifndef FREED_ELSEWHERE
    CUDA(cudaStreamWaitEvent(first, used, 0));
#endif
    CUDA(cudaFreeAsync(data, first)); //~ FREE
    // The pool may give out the same memory again.
    CUDA(cudaMallocAsync(&data, 32 * sizeof(int), first));
    write<<<1, 32, 0, first>>>(data);
    CUDA(cudaFreeAsync(data, first));
    SYNC();
    return finish(true);
}
//~ RACE[used_elsewhere] write-read global device: WRITE READ
//~ RACE[freed_elsewhere] read-copy global device: READ FREE
