//@ revisions: racy fixed
//@[racy] findings: missing-barrier missing-fence
//@[racy] fixes: 1
// The sums use a `volatile` array, which is no flag. A barrier is missing before all threads learn that theirs is the last
// block; without it they also know nothing of what the other blocks wrote.
#include "check.h"

__device__ unsigned count;

__device__ int sum_of_block(volatile int* tile, int own) {
    int t = threadIdx.x;
    tile[t] = own;
    __syncthreads();
    int sum = 0;
    for (int i = 0; i < 64; i++) sum += tile[i];
    __syncthreads();
    return sum;
}

__global__ void sums(const int* in, int* out, int* total) {
    __shared__ int tile[64];
    __shared__ bool is_last;
    int t = threadIdx.x;
    int own = sum_of_block(tile, in[blockIdx.x * 64 + t]);
    if (t == 0) out[blockIdx.x] = own; //~ C
    __threadfence();
    if (t == 0) is_last = atomicInc(&count, gridDim.x) == gridDim.x - 1; //~ A
#ifdef FIXED
    __syncthreads();
    __threadfence();
#endif
    if (is_last) { //~ B
        int all = sum_of_block(tile, t < gridDim.x ? out[t] : 0); //~ D
        if (t == 0) *total = all;
    }
}
//~ RACE[racy] write-read shared: A B
//~ RACE?[racy] write-read global: C D

int main() {
    Buffer<int> in(512), out(8), total(1);
    iota(in);
    sums<<<8, 64>>>(in.device, out.device, total.device);
    SYNC();
    total.download();
    return finish(total[0] == 511 * 256);
}
