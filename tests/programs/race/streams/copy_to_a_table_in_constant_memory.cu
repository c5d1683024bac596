//@ opt: O2
//@ revisions: racy fixed
//@[racy] findings: unordered-operations
//@[racy] stderr-contains: reads of constant memory by the first launches of
// A table in constant memory is replaced while a kernel may look into it, at places that its data say. The first launch
// runs without checks, and the checker cannot learn of its reads later. The next one is checked.
#include "check.h"

__constant__ unsigned table[256];

__global__ void look_up(const unsigned char* data, unsigned* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = table[data[i]]; //~ READ
}

int main() {
    unsigned char* data;
    unsigned *out, *host;
    cudaStream_t first, second;
    CUDA(cudaMalloc(&data, 256));
    CUDA(cudaMemset(data, 7, 256));
    CUDA(cudaMalloc(&out, 256 * sizeof(unsigned)));
    CUDA(cudaMallocHost(&host, 256 * sizeof(unsigned)));
    for (int i = 0; i < 256; i++) {
        host[i] = i * i;
    }
    CUDA(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CUDA(cudaMemcpyToSymbol(table, host, 256 * sizeof(unsigned)));
    SYNC();
    for (int round = 0; round < 3; round++) {
        look_up<<<2, 128, 0, first>>>(data, out);
#ifdef FIXED
        CUDA(cudaStreamSynchronize(first));
#endif
        CUDA(cudaMemcpyToSymbolAsync(table, host, 256 * sizeof(unsigned), 0, cudaMemcpyHostToDevice, second)); //~ COPY
        SYNC();
    }
    return finish(true);
}
//~ RACE[racy] read-copy global device: READ COPY
