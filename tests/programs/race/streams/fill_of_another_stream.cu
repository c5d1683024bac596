//@ revisions: racy fixed
//@[racy] findings: unordered-operations
// Counters are cleared for the next round while this round's kernel may run.
#include "check.h"

__global__ void count(int* counters) { atomicAdd(&counters[threadIdx.x % 4], 1); } //~ ATOMIC

int main() {
    int* counters;
    cudaStream_t first, second;
    CUDA(cudaMalloc(&counters, 4 * sizeof(int)));
    CUDA(cudaMemset(counters, 0, 4 * sizeof(int)));
    CUDA(cudaStreamCreate(&first));
    CUDA(cudaStreamCreate(&second));
    count<<<2, 64, 0, first>>>(counters);
#ifdef FIXED
    cudaStream_t fills = first;
#else
    cudaStream_t fills = second;
#endif
    CUDA(cudaMemsetAsync(counters, 0, 4 * sizeof(int), fills)); //~ FILL
    SYNC();
    return finish(true);
}
//~ RACE[racy] atomic-copy global device: ATOMIC FILL
