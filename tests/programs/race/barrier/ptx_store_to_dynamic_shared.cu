//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// PTX stores to dynamic shared memory, the only one of the kernel, at an address that is an integer; a neighbour reads it.
#include "check.h"

extern __shared__ int words[];

__global__ void hand_on(int* out) {
    int t = threadIdx.x;
    unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(words)) + 4 * t;
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(t) : "memory"); //~ A
#ifdef FIXED
    __syncthreads();
#endif
    out[t] = words[t ^ 1]; //~ B
}
//~ RACE[racy] write-read|read-write shared warp: A B

int main() {
    Buffer<int> out(64);
    hand_on<<<1, 64, 64 * sizeof(int)>>>(out.device);
    SYNC();
    return finish(true);
}
