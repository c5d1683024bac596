//@ revisions: by_any read_by_others read_first stored_over unused fixed
//@[by_any] findings: missing-atomic
//@[read_by_others] findings: missing-atomic
//@[read_first] findings: missing-atomic
//@[stored_over] findings: missing-atomic
//@[unused] findings: missing-barrier
// A count of blocks is set back by a plain write. It is ordered after the atomic writes that its thread has observed, and after
// nothing else: not the adds of blocks that come later, nor others' loads, whether they came after or before the add that was
// observed, nor a store that was overwritten before anybody read it, nor adds of which nobody takes the result.
#include "check.h"

__device__ unsigned int done, stores;

__device__ void store(unsigned int* to, unsigned int value) {
    asm volatile("st.relaxed.gpu.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory"); //~ S
}

__global__ void sum(int* partial, int* out) {
    __shared__ bool last;
    int t = threadIdx.x, b = blockIdx.x;
    if (t == 0) {
        partial[b] = b;
        __threadfence();
#ifdef READ_FIRST
        unsigned int before;
        asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(before) : "l"(&done) : "memory"); //~ F
        out[1 + b] = before;
#endif
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
//~ RACE[read_first] atomic-write global grid: F C

#if defined(STORED_OVER)
__global__ void stored_over(int* out) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x < 2) {
        store(&done, blockIdx.x + 1);
        atomicAdd(&stores, 1);
    } else {
        while (atomicAdd(&stores, 0) != 2) {}
        // The second of the two stores is observed.
        out[0] = atomicAdd(&done, 100);
        done = 0; //~ D
    }
}
#elif defined(UNUSED)
__global__ void unused(int*) {
    if (threadIdx.x != 0) return;
    atomicAdd(&done, 1); //~ U
    if (blockIdx.x == 3) done = 0; //~ E
}
#endif
//~ RACE[stored_over] atomic-write global grid: S D
//~ RACE[unused] atomic-write global grid: U E

int main() {
    Buffer<int> partial(8), out(9);
#if defined(STORED_OVER)
    stored_over<<<3, 32>>>(out.device);
#elif defined(UNUSED)
    unused<<<8, 32>>>(out.device);
#else
    sum<<<8, 32>>>(partial.device, out.device);
#endif
    SYNC();
    return finish(true);
}
