//@ revisions: racy fixed
//@[racy] findings: unordered-operations
// Two streams take turns with chunks of an array, and all chunks go through one buffer: that is one mistake, whatever
// copies and launches meet there.
#include "check.h"

const int CHUNK = 64, CHUNKS = 4;

__global__ void twice(int* x) { x[threadIdx.x] *= 2; } //~ K

int main() {
    int* host;
    CUDA(cudaMallocHost(&host, CHUNKS * CHUNK * sizeof(int)));
    for (int i = 0; i < CHUNKS * CHUNK; i++) host[i] = i;
    Buffer<int> one(CHUNK), other(CHUNK);
    cudaStream_t streams[2];
    for (cudaStream_t& stream : streams) CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        cudaStream_t stream = streams[chunk % 2];
#ifdef FIXED
        int* buffer = chunk % 2 == 0 ? one.device : other.device;
#else
        int* buffer = one.device;
#endif
        CUDA(cudaMemcpyAsync(buffer, host + chunk * CHUNK, CHUNK * sizeof(int), cudaMemcpyHostToDevice, stream)); //~ IN
        twice<<<1, CHUNK, 0, stream>>>(buffer);
        CUDA(cudaMemcpyAsync(host + chunk * CHUNK, buffer, CHUNK * sizeof(int), cudaMemcpyDeviceToHost, stream)); //~ OUT
    }
    CUDA(cudaDeviceSynchronize());
    bool right = true;
    for (int i = 0; i < CHUNKS * CHUNK; i++) right &= host[i] == 2 * i;
    return finish(right);
}
//~ RACE[racy] copy-copy global device: IN IN
//~ RACE[racy] copy-copy global device: OUT IN
//~ RACE[racy] write-copy global device: K IN
//~ RACE[racy] copy-write|write-copy global device: OUT K
//~ RACE[racy] write-read|read-write|write-write global device: K K
