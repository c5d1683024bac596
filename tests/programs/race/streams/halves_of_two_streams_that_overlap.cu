//@ revisions: racy fixed
//@[racy] findings: unordered-operations
// Two streams that do not block, each with a half of one array; where the halves have one element in common the
// kernels race on it. Each launch by itself is proved, and runs without checks until another may meet it.
#include "check.h"

__global__ void mark(int* data, int n, int value) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        data[i] = value; //~ W
}

int main() {
    const int half = 300;
    Buffer<int> data(2 * half);
    cudaStream_t streams[2];
    for (cudaStream_t& stream : streams) CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int round = 0; round < 3; round++) {
#ifdef RACY
        mark<<<2, 64, 0, streams[0]>>>(data.device, half + 1, 1);
#else
        mark<<<2, 64, 0, streams[0]>>>(data.device, half, 1);
#endif
        mark<<<2, 64, 0, streams[1]>>>(data.device + half, half, 2);
        SYNC();
    }
    data.download();
    return finish(data[0] == 1 && data[half - 1] == 1 && data[2 * half - 1] == 2);
}
//~ RACE[racy] write-write global device: W W
