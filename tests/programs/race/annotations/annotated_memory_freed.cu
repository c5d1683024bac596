//@ revisions: racy fixed
//@[racy] findings: several-writers
// What is allocated where annotated memory was is not annotated.
#include <gpurace/gpurace.h>
#include "check.h"

__global__ void run(int* data) { data[0] = threadIdx.x; } //~ A

int main() {
    int* data;
    for (int i = 0; i < 20; i++) {
        CUDA(cudaMalloc(&data, 4096));
#ifdef FIXED
        GPURACE_BENIGN_RACE_SIZED(data, 4096, "any thread's value will do");
#else
        if (i == 0) GPURACE_BENIGN_RACE_SIZED(data, 4096, "any thread's value will do");
        if (i == 19)
#endif
            run<<<1, 64>>>(data);
        SYNC();
        CUDA(cudaFree(data));
    }
    return finish(true);
}
//~ RACE[racy] write-write global: A A
