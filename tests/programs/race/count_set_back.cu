//@ revisions: by_any read_by_others fixed
// A count of blocks is set back by a plain write: by the block whose atomic was the last one; by each block, so that others'
// atomics follow; while others may still read it.
#include "check.h"

__device__ unsigned int done;

__global__ void sum(int* partial, int* out) {
    __shared__ bool last;
    int t = threadIdx.x, b = blockIdx.x;
    if (t == 0) {
        partial[b] = b;
        __threadfence();
        last = atomicAdd(&done, 1) == gridDim.x - 1; //~ A
        __threadfence();
#ifdef READ_BY_OTHERS
        unsigned int seen;
        asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(seen) : "l"(&done) : "memory"); //~ L
        out[1 + b] = seen;
#endif
    }
    __syncthreads();
    if (last && t == 0) {
        int total = 0;
        for (unsigned i = 0; i < gridDim.x; i++) total += partial[i];
        *out = total;
    }
#ifdef BY_ANY
    if (t == 0) done = 0; //~ B
#else
    if (last && t == 0) done = 0; //~ C
#endif
}
//~ RACE[by_any] write-atomic global grid: B A
//~ RACE[by_any] write-write global grid: B B
//~ RACE[read_by_others] atomic-write global grid: L C
// Known false alarm: where others have read the location by atomics, their atomic writes count as unobserved too.
//~ RACE[read_by_others] atomic-write global grid: A C

int main() {
    Buffer<int> partial(8), out(9);
    sum<<<8, 32>>>(partial.device, out.device);
    SYNC();
    return finish(true);
}
