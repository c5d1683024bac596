//@ revisions: racy fixed
//@[racy] findings: missing-atomic narrow-scope
// A volatile load is atomic beside atomics of the same bytes. It is not atomic beside those of more bytes.
#include "check.h"

__global__ void count(unsigned long long* counter, int* seen) {
#ifdef FIXED
    volatile unsigned long long* look = counter;
#else
    volatile unsigned int* look = reinterpret_cast<unsigned int*>(counter);
#endif
    if (threadIdx.x == 0) seen[blockIdx.x] = *look <= 4; //~ LOOK
    if (threadIdx.x == 32) atomicAdd(counter, 1); //~ ADD
}
//~ RACE[racy] atomic-read|read-atomic global block: LOOK ADD

// A volatile store beside an atomic whose scope holds its thread, or does not.
__global__ void set(int* flags) {
    volatile int* flag = flags;
    if (blockIdx.x == 0 && threadIdx.x == 0) *flag = 8; //~ SET
#ifdef FIXED
    if (blockIdx.x == 1 && threadIdx.x == 32) atomicOr(flags, 8);
#else
    if (blockIdx.x == 1 && threadIdx.x == 32) atomicOr_block(flags, 8); //~ OR
#endif
}
//~ RACE[racy] write-atomic|atomic-write global grid: SET OR

int main() {
    Buffer<unsigned long long> counter(1);
    Buffer<int> seen(4), flags(2);
    count<<<4, 64>>>(counter.device, seen.device);
    set<<<2, 64>>>(flags.device);
    SYNC();
    counter.download();
    seen.download();
    flags.download();
    return finish(counter[0] == 4 && seen[3] == 1 && flags[0] == 8);
}
