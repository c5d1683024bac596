//@ revisions: racy pageable default_stream fixed other_half
//@[racy] findings: unordered-operations
//@[pageable] findings: unordered-operations
//@[default_stream] findings: unordered-operations
// Coefficients in constant memory are replaced while a kernel that reads them may run. It reads one half of them:
// a copy to the other half is no race.
#include "check.h"

__constant__ int coefficients[2][8];

__global__ void filter(int* data, int half) {
    int sum = 0;
    for (int i = 0; i < 8; i++) {
        sum += coefficients[half][i] * data[threadIdx.x + i]; //~ READ
    }
    data[64 + threadIdx.x] = sum;
}

int main() {
    int *data, *host, pageable[8] = {};
    cudaStream_t first, second;
    CUDA(cudaMalloc(&data, 128 * sizeof(int)));
    CUDA(cudaMemset(data, 0, 128 * sizeof(int)));
    CUDA(cudaMallocHost(&host, sizeof pageable));
    for (int i = 0; i < 8; i++) {
        host[i] = pageable[i] = i;
    }
    CUDA(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CUDA(cudaMemcpyToSymbol(coefficients, host, sizeof pageable, 0));
    CUDA(cudaMemcpyToSymbol(coefficients, host, sizeof pageable, sizeof pageable));
    SYNC();
    filter<<<1, 32, 0, first>>>(data, 1);
    const auto kind = cudaMemcpyHostToDevice;
#if defined(FIXED)
    CUDA(cudaMemcpyToSymbolAsync(coefficients, host, sizeof pageable, sizeof pageable, kind, first));
#elif defined(OTHER_HALF)
    CUDA(cudaMemcpyToSymbolAsync(coefficients, host, sizeof pageable, 0, kind, second));
#elif defined(PAGEABLE)
    CUDA(cudaMemcpyToSymbolAsync(coefficients, pageable, sizeof pageable, sizeof pageable, kind, second)); //~ PAGEABLE
#elif defined(DEFAULT_STREAM)
    CUDA(cudaMemcpyToSymbol(coefficients, pageable, sizeof pageable, sizeof pageable)); //~ WAITS
#else
    CUDA(cudaMemcpyToSymbolAsync(coefficients, host, sizeof pageable, sizeof pageable, kind, second)); //~ COPY
#endif
    SYNC();
    return finish(true);
}
//~ RACE[racy] read-copy global device: READ COPY
//~ RACE[pageable] read-copy global device: READ PAGEABLE
//~ RACE[default_stream] read-copy global device: READ WAITS
