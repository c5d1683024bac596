//@ revisions: racy fixed
//@[racy] findings: host
// The host reads the rows of a result before it waits for their asynchronous copy.
#include "check.h"

__global__ void produce(int* data) { data[threadIdx.x] = threadIdx.x + 1; }

int main() {
    int *result, *data;
    CUDA(cudaHostAlloc(&result, 8 * 16 * sizeof(int), cudaHostAllocDefault));
    CUDA(cudaMalloc(&data, 64 * sizeof(int)));
    memset(result, 0, 8 * 16 * sizeof(int));
    produce<<<1, 64>>>(data);
    const size_t row = 8 * sizeof(int);
    CUDA(cudaMemcpy2DAsync(result, 2 * row, data, row, row, 8, cudaMemcpyDeviceToHost)); //~ COPY
    cudaEvent_t done;
    CUDA(cudaEventCreate(&done));
    CUDA(cudaEventRecord(done));
#ifdef FIXED
    CUDA(cudaEventSynchronize(done));
#endif
    volatile int sum = 0;
    for (int y = 0; y < 8; y++) {
        for (int x = 0; x < 8; x++) {
            sum = sum + result[16 * y + x]; //~ READ
        }
        // Nothing is copied between the rows.
        result[16 * y + 8] = 7;
    }
    CUDA(cudaDeviceSynchronize());
    return finish(sum == 64 * 65 / 2);
}
//~ RACE[racy] copy-host global system: COPY READ
