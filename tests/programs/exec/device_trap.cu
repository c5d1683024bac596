// `__trap()` ends the launch with an error that stays.
#include "check.h"

__global__ void stop(int* data) {
    data[threadIdx.x] = 1;
    if (threadIdx.x == 5) __trap();
}

int main() {
    int *data, *more = nullptr;
    CUDA(cudaMalloc(&data, 32 * sizeof(int)));
    stop<<<1, 32>>>(data);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorName(error));
    bool right = error == cudaErrorIllegalInstruction || error == cudaErrorLaunchFailure;
    right &= cudaMalloc(&more, 4) == error;
    return finish(right);
}
