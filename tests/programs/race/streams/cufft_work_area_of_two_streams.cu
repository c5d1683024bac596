//@ revisions: racy fixed
//@[racy] findings: unordered-operations unordered-operations
//@ compile-flags: -lcufft
// Transforms that run at the same time need a work area each: one plan on two streams has one, and so have two plans to which
// the program gives the same memory.
#include "fft.h"

const int N = 64;

__global__ void unrelated(float* x) { x[threadIdx.x] = 1; }

int main() {
    cudaStream_t first, second;
    cudaEvent_t done;
    Buffer<cufftComplex> x(N), y(N);
    Buffer<float> z(N);
    CUDA(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CUDA(cudaEventCreate(&done));
    unrelated<<<1, N, 0, first>>>(z.device);

    cufftHandle plan, other;
    FFT(cufftPlan1d(&plan, N, CUFFT_C2C, 1));
    FFT(cufftPlan1d(&other, N, CUFFT_C2C, 1));
    FFT(cufftSetStream(plan, first));
    FFT(cufftExecC2C(plan, x.device, x.device, CUFFT_FORWARD)); //~ ONE
#ifdef FIXED
    CUDA(cudaEventRecord(done, first));
    CUDA(cudaStreamWaitEvent(second, done, 0));
#endif
    FFT(cufftSetStream(plan, second));
    FFT(cufftExecC2C(plan, y.device, y.device, CUFFT_FORWARD)); //~ TWO
    CUDA(cudaDeviceSynchronize());

    // Each has its own.
    FFT(cufftSetStream(other, first));
    FFT(cufftExecC2C(other, x.device, x.device, CUFFT_FORWARD));
    FFT(cufftExecC2C(plan, y.device, y.device, CUFFT_FORWARD));
    CUDA(cudaDeviceSynchronize());

    size_t size;
    FFT(cufftGetSize(plan, &size));
    Buffer<char> area(2 * size);
    FFT(cufftSetWorkArea(plan, area.device));
#ifdef FIXED
    FFT(cufftSetWorkArea(other, area.device + size));
#else
    FFT(cufftSetWorkArea(other, area.device));
#endif
    FFT(cufftExecC2C(other, x.device, x.device, CUFFT_FORWARD)); //~ THREE
    FFT(cufftExecC2C(plan, y.device, y.device, CUFFT_FORWARD)); //~ FOUR
    CUDA(cudaDeviceSynchronize());
    FFT(cufftDestroy(plan));
    FFT(cufftDestroy(other));
    return finish(true);
}
//~ RACE[racy] copy-copy global device: ONE TWO
//~ RACE[racy] copy-copy global device: THREE FOUR
