// What is not checked still orders: the release and the acquire of a flag in
// functions that are marked.
#include <gpurace/gpurace.h>
#include "check.h"

__device__ GPURACE_NO_SANITIZE void post(int* flag) {
    __threadfence();
    atomicExch(flag, 1);
}

__device__ void wait_for(int* flag) {
    GPURACE_IGNORE_SCOPE();
    while (atomicAdd(flag, 0) == 0) {}
    __threadfence();
}

__global__ void pass(int* data, int* flag, int* out) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 42;
        post(flag);
    } else {
        wait_for(flag);
        out[0] = data[0];
    }
}

int main() {
    Buffer<int> data(1), flag(1), out(1);
    pass<<<2, 32>>>(data.device, flag.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 42);
}
