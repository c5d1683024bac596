// The last block adds up the results of all, as CUDA's guide has it: a fence before the atomic that counts the block, and
// a barrier alone after it.
#include "check.h"

__device__ unsigned int done;

__global__ void sum(const int* in, int* partial, int* out) {
    __shared__ bool last;
    int t = threadIdx.x, b = blockIdx.x;
    int value = in[b * 32 + t];
    for (int s = 16; s > 0; s /= 2) value += __shfl_down_sync(0xffffffff, value, s);
    if (t == 0) {
        partial[b] = value;
        __threadfence();
        last = atomicInc(&done, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        int total = t < gridDim.x ? partial[t] : 0;
        for (int s = 16; s > 0; s /= 2) total += __shfl_down_sync(0xffffffff, total, s);
        if (t == 0) *out = total;
    }
}

int main() {
    Buffer<int> in(256), partial(8), out(1);
    iota(in);
    sum<<<8, 32>>>(in.device, partial.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 255 * 128);
}
