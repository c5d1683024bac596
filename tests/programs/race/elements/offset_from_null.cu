//@ revisions: racy fixed
//@[racy] findings: several-writers
// An address comes as a number, which is added to a null pointer. So a place behind null may lie in an allocation. The
// report does not call that an alias.
#include "check.h"

__global__ void exchange(char* base, size_t at, int* out, int distance) {
    out[threadIdx.x] = 1; //~ ONE
    *(int*)(base + at + 4 * (threadIdx.x ^ distance)) = 2; //~ OTHER
}

int main() {
    int* out;
    CUDA(cudaMalloc(&out, 64 * sizeof(int)));
#ifdef FIXED
    const int distance = 0;
#else
    const int distance = 33;
#endif
    exchange<<<1, 64>>>(nullptr, (size_t)out, out, distance);
    SYNC();
    return finish(true);
}
//~ RACE[racy] write-write global block: ONE OTHER
