//@ revisions: racy fixed
//@[racy] findings: host
// The host prepares the next input in the buffer that the kernel still reads,
// by itself and through the C library.
#include "check.h"

__global__ void consume(const int* data, int* out) {
    out[threadIdx.x] = data[threadIdx.x]; //~ READ
}

int main() {
    int *data, *out;
    CUDA(cudaMallocManaged(&data, 64 * sizeof(int)));
    CUDA(cudaMalloc(&out, 64 * sizeof(int)));
    data[0] = 1;
    cudaStream_t stream;
    cudaEvent_t done;
    CUDA(cudaStreamCreate(&stream));
    CUDA(cudaEventCreate(&done));
    consume<<<1, 64, 0, stream>>>(data, out);
    CUDA(cudaEventRecord(done, stream));
#ifdef FIXED
    CUDA(cudaEventSynchronize(done));
#endif
    data[0] = 2; //~ WRITE
    int rest[63] = {};
    volatile size_t bytes = sizeof rest;
    memcpy(data + 1, rest, bytes); //~ COPY
    SYNC();
    return finish(data[0] == 2);
}
//~ RACE[racy] read-host global system: READ WRITE
//~ RACE[racy] read-host global system: READ COPY
