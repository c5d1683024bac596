//@ revisions: racy fixed
//@[racy] findings: unordered-operations
//@ compile-flags: -lcublas
// A call of the old interface runs on the stream of `cublasSetKernelStream`, which does not wait for the kernel's.
#include <cublas.h>

#include "check.h"

const int N = 32;

__global__ void produce(float* x) { x[threadIdx.x] = threadIdx.x; } //~ WRITE

int main() {
    cudaStream_t first, second;
    CUDA(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    Buffer<float> x(N);
    CUDA(cublasInit());
    CUDA(cublasSetKernelStream(second));
    produce<<<1, N, 0, first>>>(x.device);
#ifdef FIXED
    CUDA(cudaStreamSynchronize(first));
#endif
    cublasSscal(N, 2, x.device, 1); //~ SCALE
    SYNC();
    x.download();
    CUDA(cublasShutdown());
    return finish(x[1] == 2);
}
//~ RACE[racy] write-copy global device: WRITE SCALE
