//@ revisions: racy fixed
//@[racy] findings: unwaited-copy
// A pipeline of three stages, two copies ahead. The racy program copies to the stage that is being used.
#include <cuda_pipeline.h>
#include "check.h"

constexpr int ROUNDS = 9, STAGES = 3;

__global__ void sums(const int* in, int* out) {
    __shared__ int stage[STAGES][64];
    int t = threadIdx.x, sum = 0;
    for (int i = 0; i < STAGES - 1; i++) {
        __pipeline_memcpy_async(&stage[i][t], &in[i * 64 + t], sizeof(int));
        __pipeline_commit();
    }
    for (int i = 0; i < ROUNDS; i++) {
        __pipeline_wait_prior(STAGES - 2);
        __syncthreads();
        int next = i + STAGES - 1;
        if (next < ROUNDS) {
#ifdef RACY
            int to = (next + 1) % STAGES;
#else
            int to = next % STAGES;
#endif
            __pipeline_memcpy_async(&stage[to][t], &in[next * 64 + t], sizeof(int)); //~ COPY
        }
        __pipeline_commit();
        sum += stage[i % STAGES][63 - t]; //~ USE
    }
    out[t] = sum;
}
//~ RACE[racy] write-read shared: COPY USE

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
