//@ revisions: racy fixed
//@[racy] findings: unordered-operations unordered-operations unordered-operations
//@ compile-flags: -lcufft
// A kernel of another stream writes what a transform reads, another one reads what it writes, and a third one reads the
// input of a complex-to-real transform, which cuFFT may overwrite. What lies between the rows is another's.
#include "fft.h"

const int N = 8, PITCH = 12;

__global__ void produce(cufftComplex* x) { x[threadIdx.y * PITCH + threadIdx.x] = {1, 0}; } //~ WRITE

__global__ void between(cufftComplex* x) { x[threadIdx.y * PITCH + N + threadIdx.x] = {2, 0}; }

__global__ void consume(const cufftComplex* y, float* sum) { sum[threadIdx.x] = y[threadIdx.x].x; } //~ READ

__global__ void look(const cufftComplex* y, float* sum) { sum[N + threadIdx.x] = y[threadIdx.x].x; } //~ LOOK

int main() {
    cudaStream_t first, second;
    cudaEvent_t produced, transformed;
    Buffer<cufftComplex> x(N * PITCH), y(N * N), half(N / 2 + 1);
    Buffer<float> sum(2 * N), real(N);
    CUDA(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CUDA(cudaEventCreate(&produced));
    CUDA(cudaEventCreate(&transformed));
    cufftHandle plan, to_real;
    int n[2] = {N, N}, from[2] = {N, PITCH};
    CUDA(cufftPlanMany(&plan, 2, n, from, 1, 0, n, 1, 0, CUFFT_C2C, 1));
    CUDA(cufftSetStream(plan, second));

    produce<<<1, dim3(N, N), 0, first>>>(x.device);
#ifdef FIXED
    CUDA(cudaEventRecord(produced, first));
    CUDA(cudaStreamWaitEvent(second, produced, 0));
#endif
    CUDA(cufftExecC2C(plan, x.device, y.device, CUFFT_FORWARD)); //~ C2C
    between<<<1, dim3(PITCH - N, N), 0, first>>>(x.device);
#ifdef FIXED
    CUDA(cudaEventRecord(transformed, second));
    CUDA(cudaStreamWaitEvent(first, transformed, 0));
#endif
    consume<<<1, N, 0, first>>>(y.device, sum.device);
    CUDA(cudaDeviceSynchronize());

    CUDA(cufftPlan1d(&to_real, N, CUFFT_C2R, 1));
    CUDA(cufftSetStream(to_real, second));
    CUDA(cufftExecC2R(to_real, half.device, real.device)); //~ C2R
#ifdef FIXED
    // To destroy the plan would not do: cuFFT does not promise that this waits.
    CUDA(cudaStreamSynchronize(second));
#endif
    CUDA(cufftDestroy(to_real));
    look<<<1, 1, 0, first>>>(half.device, sum.device);
    SYNC();
    sum.download();
    CUDA(cufftDestroy(plan));
    return finish(sum[0] == N * N && sum[1] == 0 && sum[N] == 0);
}
//~ RACE[racy] write-copy global device: WRITE C2C
//~ RACE[racy] read-copy global device: READ C2C
//~ RACE[racy] read-copy global device: LOOK C2R
