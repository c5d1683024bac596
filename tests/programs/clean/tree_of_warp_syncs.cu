// A reduction whose every step syncs only the lanes that still take part.
#include "check.h"

__global__ void reduce(const int* in, int* out) {
    __shared__ int tile[32];
    int t = threadIdx.x;
    tile[t] = in[t];
    __syncwarp();
    unsigned mask = 0xffffffff;
    for (int s = 16; s > 0; s /= 2) {
        mask >>= s;
        if (t < s) {
            tile[t] += tile[t + s];
            __syncwarp(mask);
        }
    }
    if (t == 0) *out = tile[0];
}

int main() {
    Buffer<int> in(32), out(1);
    iota(in);
    reduce<<<1, 32>>>(in.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 31 * 16);
}
