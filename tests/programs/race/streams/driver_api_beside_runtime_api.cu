//@ revisions: racy fixed
//@[racy] findings: unordered-operations
//@ module: yes
// A kernel of the driver API reads on a stream of the runtime API what a kernel of the runtime API writes on
// another.
#include "driver.h"

__global__ void produce(int* data) { data[threadIdx.x] = threadIdx.x; } //~ WRITE
extern "C" __global__ void consume(const int* data, int* out) { out[threadIdx.x] = data[threadIdx.x] + 1; } //~ READ

int main(int, char** argv) {
    int *data, *out;
    cudaStream_t first;
    CUstream second;
    cudaEvent_t done;
    CUmodule module = own_module(argv[0]);
    CUfunction consume = function(module, "consume");
    CUDA(cudaMalloc(&data, 32 * sizeof(int)));
    CUDA(cudaMalloc(&out, 32 * sizeof(int)));
    CUDA(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CU(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    CUDA(cudaEventCreate(&done));
    produce<<<1, 32, 0, first>>>(data);
#ifdef FIXED
    CU(cuEventRecord(done, first));
    CUDA(cudaStreamWaitEvent(second, done, 0));
#endif
    void* arguments[] = {&data, &out};
    CU(cuLaunchKernel(consume, 1, 1, 1, 32, 1, 1, 0, second, arguments, nullptr));
    SYNC();
    int last;
    CU(cuMemcpyDtoH(&last, reinterpret_cast<CUdeviceptr>(out + 31), sizeof last));
    return finish(last == 32);
}
//~ RACE[racy] write-read global device: WRITE READ
