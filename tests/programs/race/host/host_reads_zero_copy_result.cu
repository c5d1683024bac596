//@ revisions: racy fixed
//@[racy] findings: host
// A kernel writes its result into page-locked memory. The host reads it before it waits.
#include "check.h"

__global__ void produce(int* data) { data[threadIdx.x] = threadIdx.x + 1; } //~ WRITE

int main() {
    int *result, *seen;
    CUDA(cudaHostAlloc(&result, 64 * sizeof(int), cudaHostAllocMapped));
    CUDA(cudaHostGetDevicePointer(&seen, result, 0));
    produce<<<1, 64>>>(seen);
#ifdef FIXED
    CUDA(cudaDeviceSynchronize());
#endif
    volatile int last = result[63]; //~ READ
    CUDA(cudaDeviceSynchronize());
    return finish(last == 64);
}
//~ RACE[racy] write-host global system: WRITE READ
