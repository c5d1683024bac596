//@ revisions: racy fixed
//@[racy] findings: same-value several-writers
// Races on one object are meant: said by the host of allocated memory, by the
// kernel of shared memory. The same lines race on another object.
#include <gpurace/gpurace.h>
#include "check.h"

__global__ void run(int* data) {
    __shared__ int meant, other;
    GPURACE_BENIGN_RACE(meant, "any thread's value will do");
    __syncthreads();
    for (int i = 0; i < 2; i++) {
#ifdef FIXED
        int* p = &meant;
#else
        int* p = i ? &other : &meant;
#endif
        *p = threadIdx.x; //~ SHARED
    }
    __syncthreads();
    data[0] = meant; //~ GLOBAL
}

int main() {
    Buffer<int> first(4), second(4);
    GPURACE_BENIGN_RACE_SIZED(first.device, sizeof(int), "any thread's value will do");
    run<<<1, 64>>>(first.device);
#ifdef FIXED
    GPURACE_BENIGN_RACE_SIZED(second.device + 1, sizeof(int), "any thread's value will do");
    run<<<1, 64>>>(second.device + 1);
#else
    run<<<1, 64>>>(second.device);
#endif
    SYNC();
    return finish(true);
}
//~ RACE[racy] write-write shared: SHARED SHARED
//~ RACE[racy] write-write global: GLOBAL GLOBAL
