// Wrong calls give CUDA's own errors, which are read once; none of them ends the program.
#include "check.h"

__global__ void kernel(int* out) { out[threadIdx.x] = 1; }
__global__ void __launch_bounds__(16) bounded(int* out) { out[threadIdx.x] = 1; }

static bool is(cudaError_t got, cudaError_t want) {
    if (got != want) printf("got %s, wanted %s\n", cudaGetErrorName(got), cudaGetErrorName(want));
    return got == want;
}

int main() {
    Buffer<int> out(64);
    bool right = is(cudaSetDevice(77), cudaErrorInvalidDevice);
    right &= is(cudaGetLastError(), cudaErrorInvalidDevice) && is(cudaGetLastError(), cudaSuccess);
    kernel<<<1, 2000>>>(out.device);
    right &= is(cudaPeekAtLastError(), cudaErrorInvalidConfiguration);
    right &= is(cudaGetLastError(), cudaErrorInvalidConfiguration);
    bounded<<<1, 17>>>(out.device);
    right &= is(cudaGetLastError(), cudaErrorLaunchOutOfResources);
    kernel<<<0, 32>>>(out.device);
    right &= is(cudaGetLastError(), cudaErrorInvalidConfiguration);
    kernel<<<1, 32, 64 << 20>>>(out.device);
    right &= is(cudaGetLastError(), cudaErrorInvalidValue);
    void* huge = nullptr;
    right &= is(cudaMalloc(&huge, ~0ull >> 2), cudaErrorMemoryAllocation);
    cudaGetLastError();
    right &= is(cudaFree(reinterpret_cast<void*>(16)), cudaErrorInvalidValue);
    cudaGetLastError();
    right &= is(cudaFree(nullptr), cudaSuccess) && strlen(cudaGetErrorString(cudaErrorInvalidValue)) > 4;
    right &= !strcmp(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
    kernel<<<1, 64>>>(out.device);
    SYNC();
    out.download();
    return finish(right && out[63] == 1);
}
