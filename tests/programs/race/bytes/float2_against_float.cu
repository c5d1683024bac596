//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// A `float2` store writes both halves; another thread reads the second one.
#include "check.h"

__global__ void update(float2* pairs, float* out) {
    int t = threadIdx.x;
    if (t < 32) {
#ifdef FIXED
        pairs[t].x = t;
#else
        pairs[t] = make_float2(t, 2 * t); //~ A
#endif
    } else {
        out[t - 32] = pairs[t - 32].y; //~ B
    }
}
//~ RACE[racy] write-read global block: A B

int main() {
    Buffer<float2> pairs(32);
    Buffer<float> out(32);
    update<<<1, 64>>>(pairs.device, out.device);
    SYNC();
    pairs.download();
    out.download();
    bool right = true;
    for (int i = 0; i < 32; i++) right &= pairs[i].x == i && out[i] == 0;
    return finish(right);
}
