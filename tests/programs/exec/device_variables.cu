// `__constant__`, `__device__` with initialisers and pointers, copies by symbol.
#include "check.h"

__constant__ int table[4] = {2, 3, 5, 7};
__constant__ float scale;
__device__ int counters[4] = {10, 20, 30, 40};
__device__ int* cursor = &counters[1];
static __device__ double offset = 0.5;

__global__ void use(float* out) {
    int t = threadIdx.x;
    out[t] = table[t] * scale + counters[t] + cursor[t % 3] + (float)offset;
    counters[t] += 1;
}

int main() {
    Buffer<float> out(4);
    float four = 4;
    int added[4], replaced[2] = {21, 34};
    CUDA(cudaMemcpyToSymbol(scale, &four, sizeof four));
    CUDA(cudaMemcpyToSymbol(table, replaced, sizeof replaced, 2 * sizeof(int)));
    use<<<1, 1>>>(out.device);
    use<<<1, 1>>>(out.device);
    CUDA(cudaMemcpyFromSymbol(added, counters, sizeof added));
    out.download();
    bool right = out[0] == 2 * 4 + 11 + 20 + 0.5f && added[0] == 12 && added[3] == 40;
    void* address;
    size_t size;
    CUDA(cudaGetSymbolAddress(&address, counters));
    CUDA(cudaGetSymbolSize(&size, counters));
    CUDA(cudaMemset(address, 0, size));
    CUDA(cudaMemcpyFromSymbol(added, counters, sizeof added));
    int constants[4];
    CUDA(cudaMemcpyFromSymbol(constants, table, sizeof constants));
    right &= constants[1] == 3 && constants[2] == 21 && constants[3] == 34;
    return finish(right && size == 16 && added[2] == 0);
}
