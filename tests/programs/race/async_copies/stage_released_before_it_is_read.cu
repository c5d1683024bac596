//@ revisions: racy fixed
//@[racy] findings: early-release
// The stage of a pipeline is released before it is read, so the next copy may overwrite it.
#include <cooperative_groups.h>
#include <cuda/pipeline>
#include "check.h"

__global__ void staged(const int* in, int* out, int batches) {
    __shared__ int stage[2][64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cooperative_groups::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    for (int ahead = 0, i = 0; i < batches; i++) {
        for (; ahead < batches && ahead < i + 2; ahead++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, stage[ahead % 2], in + ahead * 64, sizeof stage[0], pipe); //~ C
            pipe.producer_commit();
        }
        pipe.consumer_wait();
#ifdef RACY
        pipe.consumer_release();
#endif
        out[i * 64 + threadIdx.x] = stage[i % 2][63 - threadIdx.x]; //~ R
#ifdef FIXED
        pipe.consumer_release();
#endif
    }
}
//~ RACE[racy] read-write|write-read shared: R C

int main() {
    const int batches = 8;
    Buffer<int> in(batches * 64), out(batches * 64);
    iota(in);
    staged<<<1, 64>>>(in.device, out.device, batches);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < batches; i++)
        for (int x = 0; x < 64; x++) right &= out[i * 64 + x] == i * 64 + 63 - x;
#ifdef FIXED
    return finish(right);
#else
    return 0;
#endif
}
