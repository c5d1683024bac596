//@ revisions: racy fixed
//@[racy] findings: missing-fence
// The last block adds up what the others have stored. That the sums are `volatile` makes them no flags, and orders
// nothing: what lacks is a fence before the count.
#include "check.h"

__device__ unsigned int done;

__global__ void sum(const int* in, volatile int* partial, int* out) {
    __shared__ int sums[64];
    __shared__ bool last;
    int t = threadIdx.x;
    sums[t] = in[blockIdx.x * 64 + t];
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (t < half) sums[t] += sums[t + half];
        __syncthreads();
    }
    if (t == 0) {
        partial[blockIdx.x] = sums[0]; //~ A
#ifdef FIXED
        __threadfence();
#endif
        last = atomicInc(&done, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        __threadfence();
        int total = 0;
        for (int i = 0; i < gridDim.x; i++) total += partial[i]; //~ B
        *out = total;
    }
}
//~ RACE[racy] write-read global grid: A B

int main() {
    Buffer<int> in(512), partial(8), out(1);
    for (int i = 0; i < 512; i++) in[i] = i;
    in.upload();
    sum<<<8, 64>>>(in.device, partial.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 512 * 511 / 2);
}
