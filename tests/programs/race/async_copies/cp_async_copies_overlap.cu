//@ revisions: racy fixed
//@[racy] findings: unwaited-copy
// Asynchronous copies of one thread are not ordered to each other.
#include <cuda_pipeline.h>
#include "check.h"

__global__ void last(const int* in, int* out) {
    __shared__ int tile[32];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], &in[t], sizeof(int)); //~ A
    __pipeline_commit();
#ifdef FIXED
    __pipeline_wait_prior(0);
#endif
    __pipeline_memcpy_async(&tile[t], &in[32 + t], sizeof(int)); //~ B
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[t] = tile[t];
}
//~ RACE[racy] write-write shared warp: A B

int main() {
    Buffer<int> in(64), out(32);
    iota(in);
    last<<<1, 32>>>(in.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 32; i++) right &= out[i] == 32 + i;
    return finish(right);
}
