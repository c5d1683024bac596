//@ revisions: racy fixed
//@[racy] findings: several-writers
// A recursive sum writes its partial results to a scratch area: one per thread, or one.
#include "check.h"

__device__ __noinline__ int sum(const int* data, int n, int* scratch) {
    if (n == 1) return data[0];
    scratch[0] = sum(data, n / 2, scratch + 1); //~ A
    int rest = sum(data + n / 2, n - n / 2, scratch + 1);
    return scratch[0] + rest; //~ B
}

__global__ void sums(const int* in, int* scratch, int* out) {
    int t = threadIdx.x;
#ifdef FIXED
    int* own = scratch + 8 * t;
#else
    int* own = scratch;
#endif
    out[t] = sum(in + 8 * t, 8, own);
}
//~ RACE[racy] write-read global warp: A B
//~ RACE[racy] write-write global warp: A A

int main() {
    Buffer<int> in(256), scratch(256), out(32);
    iota(in);
    sums<<<1, 32>>>(in.device, scratch.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 32; i++) right &= out[i] == 8 * 8 * i + 28;
    return finish(right);
}
