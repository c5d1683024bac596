// One race each in a static array, in dynamic shared memory, in a device
// variable and in an allocation.
#include "check.h"

__device__ int counters[8];

__global__ void in_static_array() {
    __shared__ int before[4];
    __shared__ int hits[16];
    before[threadIdx.x % 4] = 0;
    __syncthreads();
    hits[5] = threadIdx.x; // in a static array
}

__global__ void in_dynamic_memory() {
    extern __shared__ float scratch[];
    scratch[3] = threadIdx.x; // in dynamic memory
}

__global__ void in_variable() {
    counters[2] = threadIdx.x; // in a variable
}

__global__ void in_allocation(int* out) {
    out[7] = threadIdx.x; // in an allocation
}

int main() {
    Buffer<int> out(25);
    in_static_array<<<1, 2>>>();
    in_dynamic_memory<<<1, 2, 64>>>();
    in_variable<<<1, 2>>>();
    in_allocation<<<1, 2>>>(out.device);
    SYNC();
    return 0;
}
