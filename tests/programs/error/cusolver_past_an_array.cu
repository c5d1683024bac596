//@ opt: O1
//@ seeds: 0
//@ compile-flags: -lcusolver
//@ stderr-contains: gpurace: error: illegal address: `cusolverDnDpotrf` reads
// A handle that does not exist, and sizes and modes that do not fit, are refused. A matrix that is larger than its memory ends the
// device's work, as on a GPU.
#include "solver.h"

int main() {
    const int N = 4;
    Buffer<double> a(N * N), values(N), work(256);
    Buffer<int> info(1), pivots(N);
    cusolverDnHandle_t handle;
    const auto invalid = CUSOLVER_STATUS_INVALID_VALUE;
    auto factor = [&](cusolverDnHandle_t of, int fill, int n, int leading, double* at) {
        return cusolverDnDpotrf(of, cublasFillMode_t(fill), n, at, leading, work.device, 256, info.device);
    };
    bool ok = factor(nullptr, 0, N, N, a.device) == CUSOLVER_STATUS_NOT_INITIALIZED;
    CUDA(cusolverDnCreate(&handle));
    ok &= factor(handle, 0, -1, N, a.device) == invalid;
    ok &= factor(handle, 0, N, N - 1, a.device) == invalid;
    ok &= factor(handle, 2, N, N, a.device) == invalid;
    ok &= cusolverDnDgetrs(handle, cublasOperation_t(3), N, 1, a.device, N, pivots.device, values.device, N,
                           info.device) == invalid;
    // More columns than rows, and a letter that means nothing.
    ok &= cusolverDnDgesvd(handle, 'N', 'N', N - 1, N, a.device, N, values.device, nullptr, 1, nullptr, 1, work.device, 256,
                           nullptr, info.device) == invalid;
    ok &= cusolverDnDgesvd(handle, 'Q', 'N', N, N, a.device, N, values.device, nullptr, 1, nullptr, 1, work.device, 256,
                           nullptr, info.device) == invalid;
    ok &= cusolverDnXsyevjSetMaxSweeps(nullptr, 1) == invalid;
    size_t size;
    ok &= cusolverDnXpotrf_bufferSize(handle, nullptr, CUBLAS_FILL_MODE_LOWER, N, CUDA_R_16F, a.device, N, CUDA_R_16F,
                                      &size, &size) == invalid;
    ok &= factor(handle, 0, N, N, a.device) == CUSOLVER_STATUS_SUCCESS;
    // The matrix of zeros has no factor.
    ok &= number(info) == 1;
    ok &= factor(handle, 0, N, 1 << 20, a.device) == CUSOLVER_STATUS_EXECUTION_FAILED;
    ok &= cudaDeviceSynchronize() == cudaErrorIllegalAddress;
    return finish(ok);
}
