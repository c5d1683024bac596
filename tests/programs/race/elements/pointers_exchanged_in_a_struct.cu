//@ revisions: racy fixed
//@[racy] findings: loop-back-edge
// A kernel exchanges two pointers in its own copy of a struct. Each step lacks its second barrier.
#include "check.h"

struct Buffers {
    int* of[2];
};

__global__ void steps(Buffers b, int n, int rounds) {
    int t = threadIdx.x;
    for (int k = 0; k < rounds; k++) {
        b.of[1][t] = b.of[0][(t + 1) % n] + 1; //~ STEP
        int* last = b.of[0];
        b.of[0] = b.of[1];
        b.of[1] = last;
#ifdef FIXED
        __syncthreads();
#endif
    }
}
//~ RACE[racy] write-read|read-write global: STEP STEP

int main() {
    Buffer<int> a(128), b(128);
    iota(a);
    Buffers buffers = {{a.device, b.device}};
    steps<<<1, 128>>>(buffers, 128, 4);
    SYNC();
    a.download();
    bool right = true;
    for (int i = 0; i < 128; i++) right &= a[i] == (i + 4) % 128 + 4;
    return finish(right);
}
