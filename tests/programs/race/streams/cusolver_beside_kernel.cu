//@ revisions: racy fixed
//@[racy] findings: unordered-operations unordered-operations
//@ compile-flags: -lcusolver
// A factorisation reads what a kernel of another stream writes, and writes what one reads. Two calls on two streams share one
// workspace. `devInfo` is memory of the device: a kernel that looks at it too early races.
#include "solver.h"

const int N = 4;

__global__ void produce(float* a) { a[threadIdx.x * N + threadIdx.x] = 4; } //~ WRITE

__global__ void consume(const float* a, const int* info, float* to, int* seen) {
    to[threadIdx.x] = a[threadIdx.x * N + threadIdx.x]; //~ READ
    if (threadIdx.x == 0) *seen = *info; //~ INFO
}

int main() {
    cudaStream_t first, second;
    cudaEvent_t produced, factored;
    CUDA(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CUDA(cudaEventCreate(&produced));
    CUDA(cudaEventCreate(&factored));
    const auto lower = CUBLAS_FILL_MODE_LOWER;
    Buffer<float> a(N * N), b(N * N), to(N);
    Buffer<int> info(1), other(1), seen(1);
    for (int i = 0; i < N; i++) b[i * N + i] = 9;
    b.upload();
    cusolverDnHandle_t handle;
    CUDA(cusolverDnCreate(&handle));
    CUDA(cusolverDnSetStream(handle, second));
    int size = 0;
    CUDA(cusolverDnSpotrf_bufferSize(handle, lower, N, a.device, N, &size));
    Buffer<float> work(size);

    produce<<<1, N, 0, first>>>(a.device);
#ifdef FIXED
    CUDA(cudaEventRecord(produced, first));
    CUDA(cudaStreamWaitEvent(second, produced, 0));
#endif
    CUDA(cusolverDnSpotrf(handle, lower, N, a.device, N, work.device, size, info.device)); //~ FACTOR
#ifdef FIXED
    CUDA(cudaEventRecord(factored, second));
    CUDA(cudaStreamWaitEvent(first, factored, 0));
#endif
    consume<<<1, N, 0, first>>>(a.device, info.device, to.device, seen.device);
    CUDA(cusolverDnSetStream(handle, first));
    CUDA(cusolverDnSpotrf(handle, lower, N, b.device, N, work.device, size, other.device)); //~ AGAIN
    SYNC();
    to.download();
    b.download();
    CUDA(cusolverDnDestroy(handle));
    return finish(to[0] == 2 && number(seen) == 0 && b[0] == 3);
}
//~ RACE[racy] write-copy global device: WRITE FACTOR
//~ RACE[racy] read-copy global device: READ FACTOR
//~ RACE[racy] read-copy global device: INFO FACTOR
//~ RACE[racy] copy-copy global device: FACTOR AGAIN
