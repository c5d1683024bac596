//@ revisions: racy fixed
//@[fixed] findings: missing-atomic
//@[racy] findings: missing-atomic missing-atomic missing-barrier
// A compare-and-swap that fails writes nothing: it races with a plain write as a load does, and
// not with a read. One that succeeds does.
#include "check.h"

__global__ void swap(unsigned* word, unsigned expected, unsigned* out) {
    if (blockIdx.x == 0) atomicCAS(word, expected, 7); //~ C
    else out[0] = *word; //~ R
}
//~ RACE[racy] atomic-read global grid: C R

__global__ void swap_in_shared(unsigned expected, unsigned* out) {
    __shared__ unsigned short word;
    if (threadIdx.x == 0) word = 9;
    __syncthreads();
    if (threadIdx.x == 32) out[1] = atomicCAS(&word, (unsigned short)expected, (unsigned short)1); //~ S
    if (threadIdx.x == 0) out[0] = word; //~ T
}
//~ RACE[racy] atomic-read shared block: S T

// In both forms.
__global__ void write(unsigned* word) {
    if (blockIdx.x == 0) atomicCAS(word, 5, 7); //~ F
    else *word = 1; //~ W
}
//~ RACE atomic-write global grid: F W

int main() {
#ifdef RACY
    const unsigned there = 0, in_shared = 9;
#else
    const unsigned there = 5, in_shared = 8;
#endif
    Buffer<unsigned> word(1), out(2);
    swap<<<2, 1>>>(word.device, there, out.device);
    swap_in_shared<<<1, 64>>>(in_shared, out.device);
    SYNC();
    out.download();
    bool right = out[0] == 9 && out[1] == 9;
    write<<<2, 1>>>(word.device);
    SYNC();
    return finish(right);
}
