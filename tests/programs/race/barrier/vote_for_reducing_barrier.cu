//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// `__any_sync` is no `__syncthreads_or`.
#include "check.h"

__global__ void relax(int* out) {
    __shared__ int level[64];
    int t = threadIdx.x;
    level[t] = t; //~ A
#ifdef FIXED
    int any = __syncthreads_or(t == 40);
#else
    int any = __any_sync(0xffffffff, t == 40);
#endif
    out[t] = any ? level[63 - t] : -level[63 - t]; //~ B
}
//~ RACE[racy] write-read shared block: A B

int main() {
    Buffer<int> out(64);
    relax<<<1, 64>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == 63 - i;
    return finish(right);
}
