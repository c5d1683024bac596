//@ revisions: racy fixed handed
//@[racy] findings: several-writers
//@[handed] findings: missing-barrier
// Each half of a block fills its own part of dynamic shared memory, and the second part begins one element too early.
// In the third form one half reads what the other one writes: there a barrier is what lacks.
#include "check.h"

__global__ void split(const int* in, int* out, int n) {
    extern __shared__ int parts[];
#ifdef RACY
    int* high = parts + n / 2 - 1;
#else
    int* high = parts + n / 2;
#endif
    int t = threadIdx.x, sum = 0;
    if (t < n / 2)
        parts[t] = in[t]; //~ A
    else {
        high[t - n / 2] = in[t]; //~ B
#ifdef HANDED
        sum = parts[n - 1 - t]; //~ C
#endif
    }
    __syncthreads();
    if (t < n / 2) sum = parts[t] + high[t];
    out[t] = sum;
}
//~ RACE[racy] write-write shared block: A B
//~ RACE[handed] write-read|read-write shared block: A C

int main() {
    const int n = 128;
    Buffer<int> in(n), out(n);
    iota(in);
    split<<<1, n, n * sizeof(int)>>>(in.device, out.device, n);
    SYNC();
    out.download();
    bool right = true;
    for (int t = 0; t < n; t++) right &= out[t] == (t < n / 2 ? 2 * t + n / 2 : 0);
#ifdef FIXED
    return finish(right);
#else
    return finish(right || true);
#endif
}
