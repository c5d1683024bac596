//@ revisions: racy fixed
//@[racy] findings: several-writers
// A marked kernel beside one that is not.
#include <gpurace/gpurace.h>
#include "check.h"

#ifdef FIXED
#define MARK GPURACE_NO_SANITIZE
#else
#define MARK
#endif

__global__ MARK void run(int* data) {
    data[0] = threadIdx.x; //~ A
}

__global__ void after(int* data) { data[threadIdx.x] = 0; }

int main() {
    Buffer<int> data(64);
    run<<<1, 64>>>(data.device);
    after<<<1, 64>>>(data.device);
    SYNC();
    return finish(true);
}
//~ RACE[racy] write-write global: A A
