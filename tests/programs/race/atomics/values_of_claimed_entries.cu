//@ revisions: racy fixed
//@[racy] findings: missing-atomic
// A hash table: who finds an entry free claims it by a compare-and-swap, and all threads of a key add to its value.
// The claim is no lock, since nobody gives it back and others of the key go on: the addition must be atomic.
#include "check.h"

__global__ void add(unsigned* keys, int* values, int size) {
    for (int round = 0; round < 2; round++) {
        unsigned key = 1 + (blockIdx.x * blockDim.x + threadIdx.x + round) % 8;
        for (unsigned at = key * 5 % size;; at = (at + 1) % size) {
            unsigned old = atomicCAS(&keys[at], 0u, key);
            if (old == 0 || old == key) {
#ifdef FIXED
                atomicAdd(&values[at], 1);
#else
                values[at] += 1; //~ A
#endif
                break;
            }
        }
    }
}
//~ RACE?[racy] write-read|read-write|write-write global warp: A A
//~ RACE?[racy] write-read|read-write|write-write global block: A A
//~ RACE?[racy] write-read|read-write|write-write global grid: A A

int main() {
    Buffer<unsigned> keys(16);
    Buffer<int> values(16);
    add<<<4, 64>>>(keys.device, values.device, 16);
    SYNC();
    keys.download();
    values.download();
    bool right = true;
    for (int i = 0; i < 16; i++) right &= values[i] == (keys[i] ? 64 : 0);
    return finish(right);
}
