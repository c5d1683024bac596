//@ opt: O1
//@ seeds: 0
//@ compile-flags: -lcublas
//@ stderr-contains: gpurace: error: illegal address: `cublasSgemm` reads 64 bytes at
// A matrix in the host's memory ends the device's work, as on a GPU. A function that is missing says so.
//@ stderr-contains: gpurace: `cublasSgelsBatched`: not supported by gpurace's cuBLAS
#include "blas.h"

int main() {
    cublasHandle_t handle;
    Elements<float> b(16), c(16);
    float a[16] = {}, one = 1, zero = 0;
    CUDA(cublasCreate(&handle));
    bool ok = cublasSgelsBatched(handle, CUBLAS_OP_N, 1, 1, 1, nullptr, 1, nullptr, 1, nullptr, nullptr, 1) ==
              CUBLAS_STATUS_NOT_SUPPORTED;
    ok &= cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, a, 4, b.device, 4, &zero, c.device, 4) ==
          CUBLAS_STATUS_EXECUTION_FAILED;
    ok &= cudaDeviceSynchronize() == cudaErrorIllegalAddress;
    return finish(ok);
}
