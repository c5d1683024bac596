// A race in a function that is inlined through another into its kernel, on
// memory of the second of two allocations.
#include <cuda_runtime.h>

__device__ void store(int* to, int value) {
    *to = value; // the access
}

__device__ void fill(int* to) {
    store(to + 3, threadIdx.x); // the inner call
}

__global__ void racy(int* out) {
    fill(out); // the outer call
}

int main() {
    int *first = nullptr, *second = nullptr;
    cudaMalloc(&first, 64);
    cudaMalloc(&second, 128); // the allocation
    racy<<<1, 2>>>(second);
    cudaDeviceSynchronize();
    cudaFree(first);
    cudaFree(second);
    return 0;
}
