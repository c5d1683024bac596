//@ revisions: racy fixed
//@[racy] findings: several-writers
// A function that is marked is not checked, nor what it calls, whatever is
// inlined into what. Its neighbour on the next word is.
#include <gpurace/gpurace.h>
#include "check.h"

__device__ void helper(int* data) { data[0] += 1; }

__device__ GPURACE_NO_SANITIZE void meant(int* data) {
    helper(data);
    data[0] = 2;
    atomicAdd(&data[0], 1);
    if (data[0] == 77) return;
    data[0] = 3;
}

__device__ void neighbour(int* data) {
    data[1] = threadIdx.x; //~ B
}

__global__ void run(int* data) {
    meant(data);
#ifdef FIXED
    if (threadIdx.x == 0)
#endif
        neighbour(data);
    meant(data);
}

int main() {
    Buffer<int> data(2);
    run<<<1, 64>>>(data.device);
    SYNC();
    return finish(true);
}
//~ RACE[racy] write-write global: B B
