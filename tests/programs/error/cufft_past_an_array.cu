//@ opt: O1
//@ seeds: 0
//@ compile-flags: -lcufft
//@ stderr-contains: gpurace: error: illegal address: `cufftExecR2C` writes 264 bytes at
//@ stderr-contains: gpurace: `cufftXtSetCallback`: not supported by gpurace's cuFFT
//@ stderr-contains: gpurace: `cufftXtSetGPUs`: not supported by gpurace's cuFFT
//@ stderr-contains: gpurace: `cufftXtMakePlanMany`: gpurace's cuFFT has single and double precision only
// What is not there says so. The complex numbers of N real ones in place need room for two more, without which the device's
// work ends, as on a GPU it may.
#include <cufftXt.h>

#include "fft.h"

int main() {
    long long n[1] = {64};
    size_t size;
    void *routine = nullptr, *info = nullptr;
    cufftHandle plan, half;
    Buffer<float> x(64), padded(66);
    CUDA(cufftPlan1d(&plan, 64, CUFFT_R2C, 1));
    bool ok = cufftXtSetCallback(plan, &routine, CUFFT_CB_LD_REAL, &info) == CUFFT_NOT_SUPPORTED;
    ok &= cufftXtSetGPUs(plan, 1, nullptr) == CUFFT_NOT_SUPPORTED;
    CUDA(cufftCreate(&half));
    ok &= cufftXtMakePlanMany(half, 1, n, nullptr, 1, 1, CUDA_C_16F, nullptr, 1, 1, CUDA_C_16F, 1, &size, CUDA_C_16F) ==
          CUFFT_NOT_SUPPORTED;
    ok &= cufftExecR2C(plan, padded.device, reinterpret_cast<cufftComplex*>(padded.device)) == CUFFT_SUCCESS;
    ok &= cufftExecR2C(plan, x.device, reinterpret_cast<cufftComplex*>(x.device)) == CUFFT_EXEC_FAILED;
    ok &= cudaDeviceSynchronize() == cudaErrorIllegalAddress;
    return finish(ok);
}
