//@ revisions: racy fixed
//@[racy] findings: overlapping-atomics
// Two atomics do not race only where they cover exactly the same bytes.
#include "check.h"

__global__ void add(unsigned long long* wide) {
    if (threadIdx.x == 0) atomicAdd(wide, 1ull); //~ A
#ifdef FIXED
    if (threadIdx.x == 32) atomicAdd(wide, 1ull << 32);
#else
    if (threadIdx.x == 32) atomicAdd(reinterpret_cast<unsigned*>(wide) + 1, 1u); //~ B
#endif
}
//~ RACE[racy] atomic-atomic global block: A B

int main() {
    Buffer<unsigned long long> wide(1);
    add<<<1, 64>>>(wide.device);
    SYNC();
    wide.download();
    return finish(wide[0] == (1ull << 32) + 1);
}
