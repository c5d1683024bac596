//@ revisions: racy fixed
//@[racy] findings: missing-fence
// A block fence is too narrow for a result that another block reads.
#include "check.h"

__device__ unsigned int done;

__global__ void sum(int* partial, int* out) {
    if (threadIdx.x) return;
    partial[blockIdx.x] = blockIdx.x; //~ A
#ifdef FIXED
    __threadfence();
#else
    __threadfence_block();
#endif
    bool last = atomicAdd(&done, 1) == gridDim.x - 1;
#ifdef FIXED
    __threadfence();
#else
    __threadfence_block();
#endif
    if (last) {
        int total = 0;
        for (int i = 0; i < gridDim.x; i++) total += partial[i]; //~ B
        *out = total;
    }
}
//~ RACE[racy] write-read global grid: A B

int main() {
    Buffer<int> partial(8), out(1);
    sum<<<8, 32>>>(partial.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 28);
}
