//@ revisions: racy fixed
//@[racy] findings: unordered-operations host
//@ compile-flags: -lcublas
// A copy on another stream overwrites the vector of a call, which reads every second element. The elements between are
// another's. A result in the device's memory is read too early, and the host does not wait for managed memory.
#include <cublas_v2.h>

#include "check.h"

const int N = 64;

__global__ void between(float* x) { x[2 * threadIdx.x + 1] = 1; }

__global__ void scale(const float* factor, float* y) { y[threadIdx.x] *= *factor; } //~ READ

int main() {
    cublasHandle_t handle;
    cudaStream_t first, second;
    Buffer<float> x(2 * N), y(N), result(1);
    float *host, *managed;
    CUDA(cudaMallocHost(&host, 2 * N * sizeof(float)));
    CUDA(cudaMallocManaged(&managed, N * sizeof(float)));
    memset(host, 0, 2 * N * sizeof(float));
    memset(managed, 0, N * sizeof(float));
    if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) return 2;
    CUDA(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    cublasSetStream(handle, first);
    cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE);
    cublasSdot(handle, N, x.device, 2, y.device, 1, result.device); //~ DOT
    between<<<1, N, 0, second>>>(x.device);
#ifdef FIXED
    CUDA(cudaStreamSynchronize(first));
#endif
    CUDA(cudaMemcpyAsync(x.device, host, 2 * N * sizeof(float), cudaMemcpyHostToDevice, second)); //~ COPY
    scale<<<1, N, 0, second>>>(result.device, y.device);
    CUDA(cudaDeviceSynchronize());

    // A scalar result on the host is there when the call returns: the host and all later work come after it.
    float norm;
    cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST);
    cublasSnrm2(handle, N, y.device, 1, &norm);
    CUDA(cudaMemcpyAsync(y.device, host, N * sizeof(float), cudaMemcpyHostToDevice, second));

    float one = 1;
    cublasSaxpy(handle, N, &one, x.device, 1, managed, 1); //~ AXPY
#ifdef FIXED
    CUDA(cudaStreamSynchronize(first));
#endif
    float last = *(volatile float*)&managed[N - 1]; //~ HOST
    SYNC();
    cublasDestroy(handle);
    return finish(norm == 0 && last == 0);
}
//~ RACE[racy] copy-copy global device: DOT COPY
//~ RACE[racy] read-copy|write-copy global device: READ DOT
//~ RACE[racy] copy-host global system: AXPY HOST
