// The reducing forms of the barrier order memory as the plain form does.
#include "check.h"

__global__ void rotate(int* out) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = t;
    int count = __syncthreads_count(t % 2);
    int value = tile[(t + 1) % 64];
    int all = __syncthreads_and(value >= 0);
    tile[t] = value + count + all;
    int any = __syncthreads_or(value == 17);
    out[t] = tile[(t + 1) % 64] + any;
}

int main() {
    Buffer<int> out(64);
    rotate<<<1, 64>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == (i + 2) % 64 + 34;
    return finish(right);
}
