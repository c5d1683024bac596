//@ revisions: racy fixed
//@[racy] findings: missing-atomic
// Each warp keeps the positive values: it asks for room once, by its first lane, and
// writes in order. Room that is asked for by a plain addition is given twice.
#include "check.h"

__global__ void compact(const int* in, int* out, int* count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    bool keep = in[i] > 0;
    unsigned kept = __ballot_sync(0xffffffff, keep);
    int base = 0;
    if (lane == 0) {
#ifdef FIXED
        base = atomicAdd(count, __popc(kept));
#else
        base = *count; //~ R
        *count = base + __popc(kept); //~ A
#endif
    }
    base = __shfl_sync(0xffffffff, base, 0);
    if (keep) out[base + __popc(kept & ((1u << lane) - 1))] = in[i]; //~ B
}
//~ RACE[racy] write-read|read-write global: A R
//~ RACE?[racy] write-write global: A A
//~ RACE?[racy] write-write global: B B

int main() {
    const int n = 256;
    Buffer<int> in(n), out(n), count(1);
    int sum = 0;
    for (int i = 0; i < n; i++) {
        in[i] = i % 3 - 1;
        if (in[i] > 0) sum++;
    }
    in.upload();
    compact<<<4, 64>>>(in.device, out.device, count.device);
    SYNC();
    count.download();
    out.download();
    bool right = count[0] == sum;
    for (int i = 0; i < sum; i++) right &= out[i] == 1;
    return finish(right);
}
