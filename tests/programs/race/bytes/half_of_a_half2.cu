//@ revisions: racy fixed
//@[racy] findings: several-writers
// A pair of halves is one word of 4 bytes: adding to the pair touches both.
#include <cuda_fp16.h>
#include "check.h"

__global__ void update(__half2* pairs) {
    int t = threadIdx.x;
    __half* halves = reinterpret_cast<__half*>(pairs);
#ifdef FIXED
    if (t < 32) halves[2 * t] = __float2half(3.0f);
#else
    if (t < 32) pairs[t] = __floats2half2_rn(3.0f, 0.0f); //~ A
#endif
    if (t >= 32) halves[2 * (t - 32) + 1] = __float2half(4.0f); //~ B
}
//~ RACE[racy] write-write global block: A B

int main() {
    Buffer<__half2> pairs(32);
    update<<<1, 64>>>(pairs.device);
    SYNC();
    pairs.download();
    bool right = true;
    for (int i = 0; i < 32; i++)
        right &= __low2float(pairs[i]) == 3.0f && __high2float(pairs[i]) == 4.0f;
    return finish(right);
}
