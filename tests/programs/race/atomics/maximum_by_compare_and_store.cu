//@ revisions: racy fixed
//@[racy] findings: missing-atomic
// `if (x > *m) *m = x` by many threads, against `atomicMax`.
#include "check.h"

__global__ void maximum(const int* in, int* best) {
    int x = in[blockIdx.x * blockDim.x + threadIdx.x];
#ifdef FIXED
    atomicMax(best, x);
#else
    int old = *best; //~ A
    if (x > old) *best = x; //~ B
#endif
}
//~ RACE[racy] read-write global: A B
//~ RACE?[racy] write-write global: B B

int main() {
    Buffer<int> in(128), best(1);
    for (int i = 0; i < 128; i++) in[i] = 1 + (i * 89) % 128;
    in.upload();
    maximum<<<4, 32>>>(in.device, best.device);
    SYNC();
    best.download();
    return finish(best[0] == 128);
}
