//@ revisions: racy fixed
//@[racy] findings: unordered-operations unordered-operations
// A stencil's inner part and its border run on two streams and swap their arrays after each step. Two events are
// missing, whatever arrays they are of: the border waits for no inner part, and no inner part waits for the border.
#include "check.h"
#include <utility>

const int N = 256, STEPS = 4;

__global__ void inner(const int* from, int* to) {
    const int i = 1 + threadIdx.x;
    to[i] = from[i - 1] + from[i + 1]; //~ INNER
}

__global__ void border(int* to) {
    if (threadIdx.x == 0) to[0] = to[1]; //~ BORDER
}

int main() {
    Buffer<int> a(N), b(N);
    iota(a);
    cudaStream_t one, other;
    cudaEvent_t written, bordered;
    CUDA(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    CUDA(cudaEventCreate(&written));
    CUDA(cudaEventCreate(&bordered));
    int *from = a.device, *to = b.device;
    for (int step = 0; step < STEPS; step++) {
        inner<<<1, N - 2, 0, one>>>(from, to);
#ifdef FIXED
        CUDA(cudaEventRecord(written, one));
        CUDA(cudaStreamWaitEvent(other, written, 0));
#endif
        border<<<1, 32, 0, other>>>(to);
#ifdef FIXED
        CUDA(cudaEventRecord(bordered, other));
        CUDA(cudaStreamWaitEvent(one, bordered, 0));
#endif
        std::swap(from, to);
    }
    SYNC();
    return finish(true);
}
//~ RACE[racy] write-read global device: INNER BORDER
//~ RACE[racy] write-read global device: BORDER INNER
//~ RACE[racy] read-write global device: BORDER INNER
//~ RACE[racy] read-write|write-read global device: INNER BORDER
