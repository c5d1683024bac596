//@ revisions: racy fixed
//@[racy] findings: unwaited-copy
// A block-wide cuda::pipeline of two stages: the consumer has to wait for a stage.
#include <cooperative_groups.h>
#include <cuda/pipeline>
#include "check.h"

constexpr int ROUNDS = 6;

__global__ void sums(const int* in, int* out) {
    __shared__ int stage[2][64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cooperative_groups::this_thread_block();
    auto pipeline = cuda::make_pipeline(block, &state);
    int t = threadIdx.x, sum = 0;
    for (int fetch = 0, i = 0; i < ROUNDS; i++) {
        for (; fetch < ROUNDS && fetch < i + 2; fetch++) {
            pipeline.producer_acquire();
            cuda::memcpy_async(&stage[fetch % 2][t], &in[fetch * 64 + t], sizeof(int), pipeline); //~ A
            pipeline.producer_commit();
        }
#ifdef FIXED
        pipeline.consumer_wait();
#endif
        sum += stage[i % 2][63 - t]; //~ B
        pipeline.consumer_release();
    }
    out[t] = sum;
}
//~ RACE[racy] write-read|read-write shared: A B
//~ RACE?[racy] write-write shared: A A

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
