// Shuffles among the lanes of a mask, each half on its own path.
#include "check.h"

__global__ void sums(int* out) {
    int t = threadIdx.x, v = t;
    if (t < 8) {
        for (int s = 4; s > 0; s /= 2) v += __shfl_down_sync(0x000000ff, v, s, 8);
    } else if (t >= 20) {
        for (int s = 1; s < 4; s *= 2) v += __shfl_xor_sync(0xfff00000, v, s);
    }
    out[t] = v;
}

int main() {
    Buffer<int> out(32);
    sums<<<1, 32>>>(out.device);
    SYNC();
    out.download();
    bool right = out[0] == 28;
    for (int t = 8; t < 20; t++) right &= out[t] == t;
    for (int t = 20; t < 32; t++) right &= out[t] == 4 * (t / 4 * 4) + 6;
    return finish(right);
}
