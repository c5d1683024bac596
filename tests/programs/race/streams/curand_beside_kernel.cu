//@ revisions: racy fixed
//@[racy] findings: unordered-operations unordered-operations host
//@ compile-flags: -lcurand
// A kernel reads random numbers before its stream waits for them, numbers overwrite what a copy reads, and the host does
// not wait for managed memory. What lies behind the numbers is another's.
#include "rand.h"

const int N = 64;

__global__ void consume(const float* x, float* sum) { sum[threadIdx.x] += x[threadIdx.x]; } //~ READ

__global__ void behind(float* x) { x[N + threadIdx.x] = 2; }

int main() {
    cudaStream_t first, second;
    cudaEvent_t done;
    Buffer<float> x(2 * N), sum(N);
    float *host, *managed;
    CUDA(cudaMallocHost(&host, N * sizeof(float)));
    CUDA(cudaMallocManaged(&managed, N * sizeof(float)));
    CUDA(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CUDA(cudaEventCreate(&done));
    Generator generator(CURAND_RNG_PSEUDO_DEFAULT);
    CUDA(curandSetStream(generator, first));
    CUDA(curandGenerateUniform(generator, x.device, N)); //~ UNIFORM
    behind<<<1, N, 0, second>>>(x.device);
#ifdef FIXED
    CUDA(cudaEventRecord(done, first));
    CUDA(cudaStreamWaitEvent(second, done, 0));
#endif
    consume<<<1, N, 0, second>>>(x.device, sum.device);
    CUDA(cudaDeviceSynchronize());

    CUDA(cudaMemcpyAsync(host, x.device, N * sizeof(float), cudaMemcpyDeviceToHost, second)); //~ COPY
#ifdef FIXED
    CUDA(cudaStreamSynchronize(second));
#endif
    CUDA(curandGenerateNormal(generator, x.device, N, 0, 1)); //~ NORMAL

    CUDA(curandGenerateUniform(generator, managed, N)); //~ MANAGED
#ifdef FIXED
    CUDA(cudaStreamSynchronize(first));
#endif
    float last = *(volatile float*)&managed[N - 1]; //~ HOST
    SYNC();
    sum.download();
    return finish(last > 0 && last <= 1 && sum[0] == host[0]);
}
//~ RACE[racy] read-copy global device: READ UNIFORM
//~ RACE[racy] copy-copy global device: COPY NORMAL
//~ RACE[racy] copy-host global system: MANAGED HOST
