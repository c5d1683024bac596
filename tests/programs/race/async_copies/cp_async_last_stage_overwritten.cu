//@ revisions: racy fixed
//@[racy] findings: loop-back-edge
// Two stages: the next one is copied while this one is summed. Without a barrier at the end of the loop, a fast warp
// begins the copy after the next one, into the stage that a slow warp still sums. The wait is right.
#include <cuda_pipeline.h>
#include "check.h"

constexpr int ROUNDS = 8;

__global__ void sums(const int* in, int* out) {
    __shared__ int stage[2][64];
    int t = threadIdx.x, sum = 0;
    __pipeline_memcpy_async(&stage[0][t], &in[t], sizeof(int));
    __pipeline_commit();
    for (int i = 0; i < ROUNDS; i++) {
        if (i + 1 < ROUNDS) {
            __pipeline_memcpy_async(&stage[(i + 1) % 2][t], &in[(i + 1) * 64 + t], sizeof(int)); //~ COPY
        }
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        sum += stage[i % 2][63 - t]; //~ USE
#ifdef FIXED
        __syncthreads();
#endif
    }
    out[t] = sum;
}
//~ RACE[racy] write-read|read-write shared: COPY USE

int main() {
    Buffer<int> in(ROUNDS * 64), out(64);
    iota(in);
    sums<<<1, 64>>>(in.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int t = 0; t < 64; t++) right &= out[t] == ROUNDS * (63 - t) + 64 * ROUNDS * (ROUNDS - 1) / 2;
    return finish(right);
}
