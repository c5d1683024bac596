//@ revisions: racy fixed
//@[racy] findings: same-value several-writers
// Threads of two branches store one value to one place. In the second kernel they store two values.
#include "check.h"

__global__ void mark(const int* in, int* any) {
    int v = in[threadIdx.x];
#ifdef FIXED
    if (v == 99 || v == 98) atomicExch(any, 1);
#else
    if (v == 99) {
        any[0] = 1; //~ A
    } else if (v == 98) {
        any[0] = 1; //~ B
    }
#endif
}
//~ RACE[racy] write-write global same-value: A B

__global__ void side(const int* in, int* last) {
    int v = in[threadIdx.x];
#ifdef FIXED
    if (v > 0) atomicMax(last, v > 90 ? 2 : 1);
#else
    if (v == 99) {
        last[0] = 2; //~ C
    } else if (v == 98) {
        last[0] = 1; //~ D
    }
#endif
}
//~ RACE[racy] write-write global other-value: C D

int main() {
    Buffer<int> in(100), any(1), last(1);
    iota(in);
    mark<<<1, 100>>>(in.device, any.device);
    SYNC();
    side<<<1, 100>>>(in.device, last.device);
    SYNC();
    any.download();
    last.download();
    return finish(any[0] == 1 && last[0] == 2);
}
