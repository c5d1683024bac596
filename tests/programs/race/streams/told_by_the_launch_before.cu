//@ revisions: racy fixed
//@[racy] findings: unordered-operations
// A launch waits for a flag that a launch of another stream sets; the next launch of its stream, and a copy behind that, read what was
// written before the flag. In the racy one it does not wait.
#include "check.h"

__device__ int data[32], flag;

__global__ void publish() {
    data[threadIdx.x] = threadIdx.x + 1; //~ A
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicExch(&flag, 1);
    }
}

__global__ void learn() {
#ifdef FIXED
    while (atomicAdd(&flag, 0) == 0) {
    }
#endif
    __threadfence();
}

__global__ void use(int* out) { out[threadIdx.x] = data[threadIdx.x]; } //~ B

int main() {
    Buffer<int> out(32), copied(32);
    cudaStream_t s, t;
    CUDA(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    publish<<<1, 32, 0, s>>>();
    learn<<<1, 1, 0, t>>>();
    use<<<1, 32, 0, t>>>(out.device);
    CUDA(cudaMemcpyFromSymbolAsync(copied.device, data, 32 * sizeof(int), 0, cudaMemcpyDeviceToDevice, t)); //~ C
    SYNC();
    out.download();
    copied.download();
    bool right = true;
    for (int i = 0; i < 32; i++) right &= out[i] == i + 1 && copied[i] == i + 1;
    return finish(right);
}
//~ RACE[racy] write-read global device: A B
//~ RACE[racy] write-copy global device: A C
