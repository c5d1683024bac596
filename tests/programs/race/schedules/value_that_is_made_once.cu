//@ revisions: maker_releases_nothing late_reader_acquires_nothing fixed
//@ opt: O1
//@[late_reader_acquires_nothing] findings: missing-fence
//@[maker_releases_nothing] findings: missing-fence
// Double-checked initialisation: who finds no value makes it under a lock. Threads come before, while and
// after it is made, and each way has a fence of its own.
#include "check.h"

__global__ void use(int* lock, int* ready, int* value, int* out) {
    int me = blockIdx.x * blockDim.x + threadIdx.x;
    if (atomicAdd(ready, 0) == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {
        }
        __threadfence();
        if (atomicAdd(ready, 0) == 0) {
            *value = 7; //~ A
#ifndef MAKER_RELEASES_NOTHING
            __threadfence();
#endif
            atomicExch(ready, 1);
        }
        __threadfence();
        atomicExch(lock, 0);
    } else {
#ifndef LATE_READER_ACQUIRES_NOTHING
        __threadfence();
#endif
    }
    out[me] = *value; //~ B
}
//~ RACE[maker_releases_nothing] write-read global: A B
//~ RACE[late_reader_acquires_nothing] write-read global: A B

int main() {
    Buffer<int> lock(1), ready(1), value(1), out(8);
    use<<<2, 4>>>(lock.device, ready.device, value.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 8; i++) right &= out[i] == 7;
    return finish(right);
}
