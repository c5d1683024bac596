//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// Four ints are loaded as one `int4` through a cast: the last one is being written.
#include "check.h"

__global__ void sum(int* data, int* out) {
    int t = threadIdx.x;
    if (t < 32) {
#ifdef FIXED
        int2 v = *reinterpret_cast<int2*>(&data[4 * t]);
        out[t] = v.x + v.y;
#else
        int4 v = *reinterpret_cast<int4*>(&data[4 * t]); //~ A
        out[t] = v.x + v.y + v.z + v.w;
#endif
    } else {
        data[4 * (t - 32) + 3] = 1; //~ B
    }
}
//~ RACE[racy] write-read global block: B A

int main() {
    Buffer<int> data(128), out(32);
    sum<<<1, 64>>>(data.device, out.device);
    SYNC();
    data.download();
    bool right = true;
    for (int i = 0; i < 32; i++) right &= data[4 * i + 3] == 1;
    return finish(right);
}
