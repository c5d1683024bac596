//@ revisions: racy fixed
//@[racy] findings: unwaited-copy
// An asynchronous copy into shared memory is there only after the wait.
#include <cuda_pipeline.h>
#include "check.h"

__global__ void reverse(const int* in, int* out) {
    __shared__ int tile[32];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], &in[t], sizeof(int)); //~ A
    __pipeline_commit();
#ifdef FIXED
    __pipeline_wait_prior(0);
#endif
    __syncthreads();
    out[t] = tile[31 - t]; //~ B
}
//~ RACE[racy] write-read shared: A B

int main() {
    Buffer<int> in(32), out(32);
    iota(in);
    reverse<<<1, 32>>>(in.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 32; i++) right &= out[i] == 31 - i;
    return finish(right);
}
