//@ seeds: 0
//@ stderr-contains: append
//@ findings: missing-atomic
// A thread that leaves its array by far meets no memory but the device's: the launch ends with
// `cudaErrorIllegalAddress`, and the races that were found before are reported.
#include "check.h"

__global__ void append(int* count, int* list, int far) {
    // Two threads may take the same place.
    int at = count[0]++;                                        //~ COUNT
    int n = threadIdx.x == blockDim.x - 1 ? far : 1;
    for (int j = 0; j < n; j++) list[at + j] = threadIdx.x;     //~ LIST
}
//~ RACE read-write|write-write|write-read global: COUNT COUNT
//~ RACE? write-write global: LIST LIST

int main() {
    int *count, *list;
    cudaMalloc(&count, 4);
    cudaMalloc(&list, 40);
    cudaMemset(count, 0, 4);
    append<<<1, 32>>>(count, list, 1 << 28);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorName(error));
    return finish(error == cudaErrorIllegalAddress);
}
