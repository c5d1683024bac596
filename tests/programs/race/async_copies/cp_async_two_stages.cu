//@ revisions: racy fixed
//@[racy] findings: unwaited-copy
// While one stage is used the next is copied. In round `i` all groups but the
// newest must be there; the racy program waits for one less, so that a stage may also be copied to twice at once.
#include <cuda_pipeline.h>
#include "check.h"

constexpr int ROUNDS = 8;

__global__ void sums(const int* in, int* out) {
    __shared__ int stage[2][64];
    int t = threadIdx.x, sum = 0;
    __pipeline_memcpy_async(&stage[0][t], &in[t], sizeof(int)); //~ FIRST
    __pipeline_commit();
    for (int i = 0; i < ROUNDS; i++) {
        if (i + 1 < ROUNDS) {
            __pipeline_memcpy_async(&stage[(i + 1) % 2][t], &in[(i + 1) * 64 + t], sizeof(int)); //~ NEXT
        }
        __pipeline_commit();
#ifdef FIXED
        __pipeline_wait_prior(1);
#else
        __pipeline_wait_prior(2);
#endif
        __syncthreads();
        sum += stage[i % 2][63 - t]; //~ USE
        __syncthreads();
    }
    out[t] = sum;
}
//~ RACE[racy] write-read shared: FIRST USE
//~ RACE[racy] write-read shared: NEXT USE
//~ RACE[racy] write-write shared: FIRST NEXT
//~ RACE[racy] write-write shared: NEXT NEXT

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
