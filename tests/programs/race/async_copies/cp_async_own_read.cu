//@ revisions: racy fixed
//@[racy] findings: unwaited-copy
// Even the thread that began an asynchronous copy has to wait for it.
#include <cuda_pipeline.h>
#include "check.h"

__global__ void twice(const int* in, int* out) {
    __shared__ int tile[32];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], &in[t], sizeof(int)); //~ A
    __pipeline_commit();
#ifdef FIXED
    __pipeline_wait_prior(0);
#endif
    out[t] = 2 * tile[t]; //~ B
}
//~ RACE[racy] write-read shared warp: A B

int main() {
    Buffer<int> in(32), out(32);
    iota(in);
    twice<<<1, 32>>>(in.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 32; i++) right &= out[i] == 2 * i;
    return finish(right);
}
