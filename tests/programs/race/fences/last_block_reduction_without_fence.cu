//@ revisions: racy fixed
//@[racy] findings: missing-fence
// The block that finishes last adds up the results of all blocks; each result
// must be fenced before the block counts itself done.
#include "check.h"

__device__ unsigned int done;

__global__ void sum(const int* in, int* partial, int* out) {
    __shared__ bool last;
    int t = threadIdx.x, b = blockIdx.x;
    int value = in[b * 32 + t];
    for (int s = 16; s > 0; s /= 2) value += __shfl_down_sync(0xffffffff, value, s);
    if (t == 0) {
        partial[b] = value; //~ A
#ifdef FIXED
        __threadfence();
#endif
        last = atomicAdd(&done, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
#ifdef FIXED
        __threadfence();
#endif
        int total = 0;
        for (int i = 0; i < gridDim.x; i++) total += partial[i]; //~ B
        *out = total;
    }
}
//~ RACE[racy] write-read global grid: A B

int main() {
    Buffer<int> in(256), partial(8), out(1);
    iota(in);
    sum<<<8, 32>>>(in.device, partial.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 255 * 128);
}
