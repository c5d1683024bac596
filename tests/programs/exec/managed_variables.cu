// `__managed__` variables and `cudaMallocManaged` memory, seen from both sides.
#include "check.h"

__managed__ int total = 5;
__managed__ float rows[2][4];

__global__ void add(const int* values) {
    atomicAdd(&total, values[threadIdx.x]);
    rows[threadIdx.x / 4][threadIdx.x % 4] = 0.5f * threadIdx.x;
}

int main() {
    int* values;
    CUDA(cudaMallocManaged(&values, 8 * sizeof(int)));
    for (int i = 0; i < 8; i++) values[i] = i;
    total += 1;
    add<<<1, 8>>>(values);
    SYNC();
    bool right = total == 34 && rows[1][3] == 3.5f;
    CUDA(cudaFree(values));
    return finish(right);
}
