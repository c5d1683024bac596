// Calls through pointers: a table in device memory, a pointer copied to the host and back.
#include "check.h"

using Operation = int (*)(int, int);
__device__ int add(int a, int b) { return a + b; }
__device__ int multiply(int a, int b) { return a * b; }
__device__ int largest(int a, int b) {
    __syncwarp();
    return a > b ? a : b;
}
__device__ Operation operations[3] = {add, multiply, largest};
__device__ Operation chosen = multiply;

__global__ void table(int* out) {
    int t = threadIdx.x;
    out[t] = 0;
    for (int k = 0; k < 3; k++) out[t] += operations[k](t, 10);
}
__global__ void given(int* out, Operation f) { out[threadIdx.x] = f(threadIdx.x, 7); }

int main() {
    Buffer<int> out(32);
    table<<<1, 32>>>(out.device);
    out.download();
    bool right = true;
    for (int t = 0; t < 32; t++) right &= out[t] == t + 10 + 10 * t + (t > 10 ? t : 10);
    Operation f;
    CUDA(cudaMemcpyFromSymbol(&f, chosen, sizeof f));
    given<<<1, 32>>>(out.device, f);
    out.download();
    for (int t = 0; t < 32; t++) right &= out[t] == 7 * t;
    return finish(right);
}
