//@ revisions: racy fixed
//@[racy] findings: missing-barrier several-writers
// Two kernels with a race each: neither report hides the other.
#include "check.h"

__global__ void first(int* data) {
    int t = threadIdx.x;
#ifdef FIXED
    data[t] = t;
#else
    data[t / 2] = t; //~ A
#endif
}

__global__ void second(int* data, int* out) {
    int t = threadIdx.x;
    data[t] = t; //~ B
#ifdef FIXED
    __syncthreads();
#endif
    out[t] = data[63 - t]; //~ C
}
//~ RACE[racy] write-write global warp: A A
//~ RACE[racy] write-read global block: B C

int main() {
    Buffer<int> data(64), out(64);
    first<<<1, 64>>>(data.device);
    second<<<1, 64>>>(data.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == 63 - i;
    return finish(right);
}
