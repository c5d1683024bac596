//@ revisions: racy fixed
//@[racy] findings: unordered-operations unordered-operations
//@ compile-flags: -lcublas
// A product on a second stream reads what a kernel of the first one writes, and a kernel reads its result too early. The
// padding of the result's columns is another's.
#include <cublas_v2.h>

#include "check.h"

const int N = 32, LEADING = 48;

__global__ void produce(float* a) { a[blockIdx.x * N + threadIdx.x] = threadIdx.x; } //~ WRITE

__global__ void consume(const float* c, float* sums) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += c[j * LEADING + threadIdx.x]; //~ READ
    sums[threadIdx.x] = sum;
}

__global__ void pad(float* c) { c[blockIdx.x * LEADING + N + threadIdx.x] = 1; }

int main() {
    cublasHandle_t handle;
    cudaStream_t first, second;
    cudaEvent_t done;
    Buffer<float> a(N * N), b(N * N), c(N * LEADING), sums(N);
    if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) return 2;
    CUDA(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CUDA(cudaEventCreate(&done));
    cublasSetStream(handle, second);
    float one = 1, zero = 0;
    produce<<<N, N, 0, first>>>(a.device);
#ifdef FIXED
    CUDA(cudaEventRecord(done, first));
    CUDA(cudaStreamWaitEvent(second, done, 0));
#endif
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &one, a.device, N, b.device, N, &zero, c.device, LEADING); //~ GEMM
    pad<<<N, LEADING - N, 0, first>>>(c.device);
#ifdef FIXED
    CUDA(cudaEventRecord(done, second));
    CUDA(cudaStreamWaitEvent(first, done, 0));
#endif
    consume<<<1, N, 0, first>>>(c.device, sums.device);
    SYNC();
    sums.download();
    cublasDestroy(handle);
    return finish(sums[0] == 0);
}
//~ RACE[racy] write-copy global device: WRITE GEMM
//~ RACE[racy] read-copy global device: READ GEMM
