//@ revisions: racy fixed
//@[racy] findings: narrow-scope
// An atomic of block scope is atomic for the threads of one block only.
#include "check.h"

__global__ void count(int* counter) {
#ifdef FIXED
    atomicAdd(counter, 1);
#else
    atomicAdd_block(counter, 1); //~ A
#endif
}
//~ RACE[racy] atomic-atomic global grid: A A

int main() {
    Buffer<int> counter(1);
    count<<<4, 32>>>(counter.device);
    SYNC();
    counter.download();
    return finish(counter[0] == 128);
}
