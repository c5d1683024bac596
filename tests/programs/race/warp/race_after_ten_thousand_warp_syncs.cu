//@ revisions: racy fixed
//@ opt: O2
//@ seeds: 0 1
//@[racy] findings: missing-barrier
// The same with `__syncwarp`: 10,000 of them, and one that is missing near the end.
#include "check.h"

__global__ void rotate(int* out, int rounds) {
    __shared__ int tile[64], first[64];
    int t = threadIdx.x, base = t / 32 * 32, value = t;
    first[t] = t;
    for (int k = 0; k < rounds; k++) {
        tile[t] = value; //~ A
#ifdef RACY
        if (k != rounds - 3)
#endif
            __syncwarp();
        value = tile[base + (t + 1) % 32]; //~ B
        __syncwarp();
    }
    out[t] = value + first[base + 31 - t % 32];
}
//~ RACE[racy] write-read shared warp: A B

int main() {
    Buffer<int> out(64);
    rotate<<<1, 64>>>(out.device, 5000);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) {
        int base = i / 32 * 32;
        right &= out[i] == base + (i + 5000) % 32 + base + 31 - i % 32;
    }
    return finish(right);
}
