//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// `__syncthreads` orders the threads of one block, not those of two.
#include "check.h"

__global__ void smooth(const int* in, int* step, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int n = gridDim.x * blockDim.x;
    step[i] = 2 * in[i]; //~ A
    __syncthreads();
#ifdef FIXED
    int left = threadIdx.x ? i - 1 : i;
#else
    int left = (i + n - 1) % n;
#endif
    out[i] = step[left]; //~ B
    (void)n;
}
//~ RACE[racy] write-read global grid: A B

int main() {
    Buffer<int> in(96), step(96), out(96);
    iota(in);
    smooth<<<3, 32>>>(in.device, step.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 96; i++) right &= out[i] == 2 * (i % 32 ? i - 1 : i);
    return finish(right);
}
