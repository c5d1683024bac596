//@ revisions: racy fixed
//@[racy] findings: host
// As with allocated memory, for a `__managed__` variable.
#include "check.h"

__managed__ int total;

__global__ void add() { atomicAdd(&total, 1); } //~ ADD

int main() {
    total = 0;
    add<<<4, 32>>>();
#ifdef FIXED
    SYNC();
#endif
    volatile int seen = total; //~ READ
    SYNC();
    return finish(seen == 128);
}
//~ RACE[racy] atomic-host global system: ADD READ
