//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// A ballot makes lanes meet, but orders no memory access.
#include "check.h"

__global__ void compact(const int* in, int* out) {
    __shared__ int kept[32];
    int t = threadIdx.x, value = in[t];
    bool keep = value % 3 == 0;
    unsigned mask = __ballot_sync(0xffffffff, keep);
    if (keep) kept[__popc(mask & ((1u << t) - 1))] = value; //~ A
    unsigned again = __ballot_sync(0xffffffff, keep);
#ifdef FIXED
    __syncwarp();
#endif
    out[t] = t < __popc(again) ? kept[t] : -1; //~ B
}
//~ RACE[racy] write-read shared warp: A B

int main() {
    Buffer<int> in(32), out(32);
    iota(in);
    compact<<<1, 32>>>(in.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 32; i++) right &= out[i] == (i < 11 ? 3 * i : -1);
    return finish(right);
}
