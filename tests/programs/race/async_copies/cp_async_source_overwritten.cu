//@ revisions: racy fixed
//@[racy] findings: unwaited-copy
// What an asynchronous copy reads must stay until the copy is waited for.
#include <cuda_pipeline.h>
#include "check.h"

__global__ void take(int* in, int* out) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], &in[t], sizeof(int)); //~ A
    __pipeline_commit();
#ifdef FIXED
    __pipeline_wait_prior(0);
#endif
    in[t] = -1; //~ B
    __pipeline_wait_prior(0);
    __syncthreads();
    out[t] = tile[63 - t];
}
//~ RACE[racy] read-write global warp: A B

int main() {
    Buffer<int> in(64), out(64);
    iota(in);
    take<<<1, 64>>>(in.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == 63 - i;
    return finish(right);
}
