//@ revisions: racy fixed
//@[racy] findings: several-writers
// The racing store is in a lambda that the kernel is given.
#include "check.h"

template <class F>
__global__ void for_each(int n, F f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) f(i);
}

int main() {
    Buffer<int> out(64);
    int* to = out.device;
    for_each<<<2, 64>>>(128, [=] __device__(int i) {
#ifdef FIXED
        if (i % 2 == 0) to[i / 2] = i;
#else
        to[i / 2] = i; //~ A
#endif
    });
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == 2 * i;
    return finish(right);
}
//~ RACE[racy] write-write global warp other-value: A A
