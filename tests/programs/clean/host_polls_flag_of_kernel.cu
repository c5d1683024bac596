// The host learns through memory that the kernel is done: a system-scope fence
// and a flag, no call that waits.
#include "check.h"

__global__ void produce(int* data, volatile int* flag) {
    data[threadIdx.x] = threadIdx.x;
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0) *flag = 1;
}

int main() {
    int *data, *flag;
    CUDA(cudaMallocManaged(&data, 64 * sizeof(int)));
    CUDA(cudaMallocManaged(&flag, sizeof(int)));
    *flag = 0;
    produce<<<1, 64>>>(data, flag);
    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) == 0) {}
    bool right = data[63] == 63;
    SYNC();
    return finish(right);
}
