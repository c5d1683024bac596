//@ revisions: racy fixed
//@[racy] findings: host
// The host reads the result before it waits for the kernel.
#include "check.h"

__global__ void produce(int* data) { data[threadIdx.x] = threadIdx.x + 1; } //~ WRITE

int main() {
    int* data;
    CUDA(cudaMallocManaged(&data, 64 * sizeof(int)));
    produce<<<1, 64>>>(data);
#ifdef FIXED
    SYNC();
#endif
    volatile int sum = 0;
    for (int i = 0; i < 64; i++) {
        sum = sum + data[i]; //~ READ
    }
    SYNC();
    CUDA(cudaFree(data));
    return finish(sum == 64 * 65 / 2);
}
//~ RACE[racy] write-host global system: WRITE READ
