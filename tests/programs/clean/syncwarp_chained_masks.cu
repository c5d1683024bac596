// Order is transitive: lane 0 meets lane 1, then lane 1 meets lane 2.
#include "check.h"

__global__ void relay(int* out) {
    __shared__ int slot;
    int t = threadIdx.x;
    if (t == 0) {
        slot = 11;
        __syncwarp(0b011);
    } else if (t == 1) {
        __syncwarp(0b011);
        __syncwarp(0b110);
    } else if (t == 2) {
        __syncwarp(0b110);
        *out = slot;
    }
}

int main() {
    Buffer<int> out(1);
    relay<<<1, 32>>>(out.device);
    SYNC();
    out.download();
    return finish(out[0] == 11);
}
