//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// A thread that waits for its copies knows nothing of other threads' copies.
#include <cuda_pipeline.h>
#include "check.h"

__global__ void reverse(const int* in, int* out) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], &in[t], sizeof(int)); //~ A
    __pipeline_commit();
    __pipeline_wait_prior(0);
#ifdef FIXED
    __syncthreads();
#endif
    out[t] = tile[63 - t]; //~ B
}
//~ RACE[racy] write-read shared block: A B

int main() {
    Buffer<int> in(64), out(64);
    iota(in);
    reverse<<<1, 64>>>(in.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == 63 - i;
    return finish(right);
}
