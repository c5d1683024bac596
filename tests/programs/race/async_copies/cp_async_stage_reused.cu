//@ revisions: racy fixed
//@[racy] findings: loop-back-edge
// The copy into a stage begins while other threads may still read it.
#include <cuda_pipeline.h>
#include "check.h"

constexpr int ROUNDS = 4;

__global__ void sums(const int* in, int* out) {
    __shared__ int stage[64];
    int t = threadIdx.x, sum = 0;
    for (int i = 0; i < ROUNDS; i++) {
        __pipeline_memcpy_async(&stage[t], &in[i * 64 + t], sizeof(int)); //~ A
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncthreads();
        sum += stage[63 - t]; //~ B
#ifdef FIXED
        __syncthreads();
#endif
    }
    out[t] = sum;
}
//~ RACE[racy] read-write shared: B A

int main() {
    Buffer<int> in(ROUNDS * 64), out(64);
    iota(in);
    sums<<<1, 64>>>(in.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int t = 0; t < 64; t++) {
        int sum = 0;
        for (int i = 0; i < ROUNDS; i++) sum += i * 64 + 63 - t;
        right &= out[t] == sum;
    }
    return finish(right);
}
