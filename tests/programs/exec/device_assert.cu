//@ stderr-contains: block: [1,0,0], thread: [3,0,0] Assertion `data[i] < 11` failed
// A failed `assert` ends the launch; later calls report it, the host goes on.
#include <cassert>
#include "check.h"

__global__ void verify(const int* data) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    assert(data[i] < 11);
}

int main() {
    Buffer<int> data(12);
    iota(data);
    verify<<<2, 4>>>(data.device);
    SYNC();
    data[7] = 99;
    data.upload();
    verify<<<2, 4>>>(data.device);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorName(error));
    return finish(error == cudaErrorAssert && cudaGetLastError() == cudaErrorAssert);
}
