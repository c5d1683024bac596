//@ revisions: racy fixed
//@[racy] findings: several-writers several-writers several-writers
// Regions that nest, a scope that is left early, and what stands outside of
// them. The second kernel never waits, so that its threads run one after the
// other: what one of them ignores is no business of the next. Nor is it in the third,
// where one waits at a barrier meanwhile.
#include <gpurace/gpurace.h>
#include "check.h"

__device__ void early(int* data, bool leave) {
    GPURACE_IGNORE_SCOPE();
    data[0] = threadIdx.x;
    if (leave) return;
    data[0] = 1;
}

__global__ void run(int* data) {
    GPURACE_IGNORE_BEGIN();
    data[0] += 1;
    early(data, threadIdx.x % 2);
    data[0] += 1;
    GPURACE_IGNORE_END();
#ifdef FIXED
    GPURACE_IGNORE_BEGIN();
#endif
    data[0] = 5; //~ A
#ifdef FIXED
    GPURACE_IGNORE_END();
#endif
    __syncthreads();
    data[1 + threadIdx.x] = data[0];
}

__global__ void without_end(int* data) {
    if (threadIdx.x == 0) GPURACE_IGNORE_BEGIN();
    data[0] = threadIdx.x; //~ B
#ifdef FIXED
    if (threadIdx.x == 0) GPURACE_IGNORE_END();
#endif
}

__global__ void over_a_barrier(int* data) {
#ifdef FIXED
    GPURACE_IGNORE_BEGIN();
#else
    if (threadIdx.x == 0) GPURACE_IGNORE_BEGIN();
#endif
    __syncthreads();
    data[0] = threadIdx.x; //~ C
#ifdef FIXED
    GPURACE_IGNORE_END();
#else
    if (threadIdx.x == 0) GPURACE_IGNORE_END();
#endif
}

int main() {
    Buffer<int> data(65);
    over_a_barrier<<<1, 64>>>(data.device);
    run<<<1, 64>>>(data.device);
#ifndef FIXED
    without_end<<<1, 64>>>(data.device);
#endif
    SYNC();
    return finish(true);
}
//~ RACE[racy] write-write global: A A
//~ RACE[racy] write-write global: B B
//~ RACE[racy] write-write global: C C
