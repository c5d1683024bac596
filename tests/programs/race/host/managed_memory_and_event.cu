//@ revisions: racy fixed
//@[racy] findings: host
// The host waits for an event before it reads managed memory. An event that was recorded before the launch says nothing of it.
#include "check.h"

__global__ void produce(int* data) { data[threadIdx.x] = threadIdx.x + 1; } //~ WRITE

int main() {
    int* data;
    cudaEvent_t done;
    CUDA(cudaMallocManaged(&data, 64 * sizeof(int)));
    CUDA(cudaEventCreate(&done));
#ifdef RACY
    CUDA(cudaEventRecord(done));
#endif
    produce<<<1, 64>>>(data);
#ifdef FIXED
    CUDA(cudaEventRecord(done));
#endif
    CUDA(cudaEventSynchronize(done));
    volatile int last = data[63]; //~ READ
    SYNC();
    CUDA(cudaFree(data));
    return finish(last == 64);
}
//~ RACE[racy] write-host global system: WRITE READ
