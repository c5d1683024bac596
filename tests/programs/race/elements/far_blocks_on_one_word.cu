//@ revisions: racy fixed
//@ opt: O2
//@ seeds: 0
//@[racy] findings: missing-atomic
// Blocks 0 and 65,536 share a word: ids must not be cut to 16 bits.
#include "check.h"

__global__ void mark(int* data, int n) {
#ifdef FIXED
    data[blockIdx.x] += 1;
#else
    data[blockIdx.x % n] += 1; //~ A
#endif
}
//~ RACE[racy] write-read|write-write|read-write global grid: A A

int main() {
    const int blocks = 65537;
    Buffer<int> data(blocks);
    mark<<<blocks, 1>>>(data.device, blocks - 1);
    SYNC();
    data.download();
    bool right = true;
    for (int i = 0; i < blocks; i++) right &= data[i] == 1;
    return finish(right);
}
