//@ revisions: racy fixed
//@[racy] findings: unwaited-copy
// Two groups are under way; the racy program waits for the first one only and
// reads the second.
#include <cuda_pipeline.h>
#include "check.h"

__global__ void add(const int* a, const int* b, int* out) {
    __shared__ int x[64], y[64];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&x[t], &a[t], sizeof(int));
    __pipeline_commit();
    __pipeline_memcpy_async(&y[t], &b[t], sizeof(int)); //~ A
    __pipeline_commit();
#ifdef FIXED
    __pipeline_wait_prior(0);
#else
    __pipeline_wait_prior(1);
#endif
    __syncthreads();
    out[t] = x[63 - t] + y[63 - t]; //~ B
}
//~ RACE[racy] write-read shared: A B

int main() {
    Buffer<int> a(64), b(64), out(64);
    iota(a);
    iota(b);
    add<<<1, 64>>>(a.device, b.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == 2 * (63 - i);
    return finish(right);
}
