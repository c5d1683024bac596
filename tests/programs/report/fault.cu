// A thread accesses memory far behind the only allocation.
#include <cuda_runtime.h>

__global__ void wild(int* p) {
    p[1ull << 38] = 1; // far outside
}

int main() {
    int* p;
    cudaMalloc(&p, 4096);
    wild<<<1, 1>>>(p);
    cudaDeviceSynchronize();
    return 0;
}
