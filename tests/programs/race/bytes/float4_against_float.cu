//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// A vector store covers a word that another thread reads.
#include "check.h"

__global__ void scale(float* data, float* out) {
    int t = threadIdx.x;
    if (t == 0) {
        reinterpret_cast<float4*>(data)[1] = make_float4(1, 2, 3, 4); //~ A
    } else if (t == 1) {
#ifdef FIXED
        *out = data[3];
#else
        *out = data[6]; //~ B
#endif
    }
}
//~ RACE[racy] write-read global warp: A B

int main() {
    Buffer<float> data(8), out(1);
    scale<<<1, 32>>>(data.device, out.device);
    SYNC();
    data.download();
    out.download();
    return finish(data[6] == 3 && out[0] == 0);
}
