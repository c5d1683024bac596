//@ revisions: racy fixed
//@[racy] findings: missing-fence
// The block that finishes last has seen all others' releases, and must acquire them before it reads: by a fence, or by a
// barrier, of which it has neither here.
#include "check.h"

__device__ unsigned int done;

__global__ void sum(int* partial, int* out) {
    if (threadIdx.x) return;
    partial[blockIdx.x] = blockIdx.x; //~ A
    __threadfence();
    if (atomicAdd(&done, 1) != gridDim.x - 1) return;
#ifdef FIXED
    __threadfence();
#endif
    int total = 0;
    for (int i = 0; i < gridDim.x; i++) total += partial[i]; //~ B
    *out = total;
}
//~ RACE[racy] write-read global grid: A B

int main() {
    Buffer<int> partial(8), out(1);
    sum<<<8, 32>>>(partial.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 28);
}
