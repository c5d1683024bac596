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
    CUDA(cufftPlan1d(&plan, N, CUFFT_C2C, 1));
    CUDA(cufftPlan1d(&other, N, CUFFT_C2C, 1));
    CUDA(cufftSetStream(plan, first));
    CUDA(cufftExecC2C(plan, x.device, x.device, CUFFT_FORWARD)); //~ ONE
#ifdef FIXED
    CUDA(cudaEventRecord(done, first));
    CUDA(cudaStreamWaitEvent(second, done, 0));
#endif
    CUDA(cufftSetStream(plan, second));
    CUDA(cufftExecC2C(plan, y.device, y.device, CUFFT_FORWARD)); //~ TWO
    CUDA(cudaDeviceSynchronize());

    // Each has its own.
    CUDA(cufftSetStream(other, first));
    CUDA(cufftExecC2C(other, x.device, x.device, CUFFT_FORWARD));
    CUDA(cufftExecC2C(plan, y.device, y.device, CUFFT_FORWARD));
    CUDA(cudaDeviceSynchronize());

    size_t size;
    CUDA(cufftGetSize(plan, &size));
    Buffer<char> area(2 * size);
    CUDA(cufftSetWorkArea(plan, area.device));
#ifdef FIXED
    CUDA(cufftSetWorkArea(other, area.device + size));
#else
    CUDA(cufftSetWorkArea(other, area.device));
#endif
    CUDA(cufftExecC2C(other, x.device, x.device, CUFFT_FORWARD)); //~ THREE
    CUDA(cufftExecC2C(plan, y.device, y.device, CUFFT_FORWARD)); //~ FOUR
    CUDA(cudaDeviceSynchronize());
    CUDA(cufftDestroy(plan));
    CUDA(cufftDestroy(other));
    return finish(true);
}
//~ RACE[racy] copy-copy global device: ONE TWO
//~ RACE[racy] copy-copy global device: THREE FOUR
