//@ revisions: racy fixed
//@[racy] findings: narrow-scope
// One block counts with device scope, the other with block scope.
#include "check.h"

__global__ void count(int* counter) {
    if (blockIdx.x == 0)
        atomicAdd(counter, 1); //~ A
    else
#ifdef FIXED
        atomicAdd(counter, 1);
#else
        atomicAdd_block(counter, 1); //~ B
#endif
}
//~ RACE[racy] atomic-atomic global grid: A B

int main() {
    Buffer<int> counter(1);
    count<<<2, 32>>>(counter.device);
    SYNC();
    counter.download();
    return finish(counter[0] == 64);
}
