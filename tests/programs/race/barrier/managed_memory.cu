//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// Memory of `cudaMallocManaged` is global memory for the kernel.
#include "check.h"

__global__ void shift(int* data) {
    int t = threadIdx.x;
    int value = data[t + 1]; //~ A
#ifdef FIXED
    __syncthreads();
#endif
    data[t] = value; //~ B
}
//~ RACE[racy] read-write global: A B

int main() {
    int* data;
    CUDA(cudaMallocManaged(&data, 65 * sizeof(int)));
    for (int i = 0; i < 65; i++) data[i] = i;
    shift<<<1, 64>>>(data);
    SYNC();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= data[i] == i + 1;
    CUDA(cudaFree(data));
    return finish(right);
}
