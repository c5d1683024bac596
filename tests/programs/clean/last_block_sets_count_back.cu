// The last block sets the count back by a plain write, once its own atomic has read what the others' had left. PTX orders an
// atomic that was observed before what follows the one that observed it ("Causality order"): for the thread of that
// atomic, and for the others of its block after a barrier.
#include "check.h"

__device__ unsigned int done;

__global__ void sum(const int* in, int* partial, int* out, int setter) {
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
    if (last && t == 0) {
        int total = 0;
        for (unsigned i = 0; i < gridDim.x; i++) total += partial[i];
        *out = total;
    }
    if (last && t == setter) done = 0;
}

int main() {
    Buffer<int> in(256), partial(8), out(1);
    iota(in);
    for (int round = 0; round < 2; round++) sum<<<8, 32>>>(in.device, partial.device, out.device, 31 * round);
    SYNC();
    out.download();
    return finish(out[0] == 255 * 128);
}
