//@ revisions: racy fixed
//@[racy] findings: missing-atomic
// The first one in initialises a table under a lock; others look at a plain
// `ready` first, without the lock.
#include "check.h"

__device__ bool is_ready(int* ready) {
#ifdef FIXED
    bool is = atomicAdd(ready, 0) != 0;
    __threadfence();
    return is;
#else
    return *ready != 0; //~ R
#endif
}

__global__ void use(int* lock, int* ready, int* table, int* out) {
    if (threadIdx.x) return;
    if (!is_ready(ready)) {
        while (atomicCAS(lock, 0, 1) != 0) {
        }
        __threadfence();
        if (!is_ready(ready)) {
            *table = 7; //~ A
#ifdef FIXED
            __threadfence();
            atomicExch(ready, 1);
#else
            *ready = 1; //~ W
#endif
        }
        __threadfence();
        atomicExch(lock, 0);
    }
    out[blockIdx.x] = *table; //~ B
}
//~ RACE[racy] write-read global grid: W R
//~ RACE?[racy] write-read global grid: A B

int main() {
    Buffer<int> words(3), out(6);
    use<<<6, 32>>>(&words.device[0], &words.device[1], &words.device[2], out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 6; i++) right &= out[i] == 7;
    return finish(right);
}
