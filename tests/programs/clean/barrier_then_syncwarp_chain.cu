// A warp sync, then the block barrier, then another warp sync: order adds up.
#include "check.h"

__global__ void relay(int* out) {
    __shared__ int slots[64];
    int t = threadIdx.x;
    if (t % 32 == 0) slots[t] = t + 1;
    __syncwarp();
    if (t % 32 == 1) slots[t] = slots[t - 1] + 1;
    __syncthreads();
    if (t % 32 == 2) slots[t] = slots[(t + 31) % 64];
    __syncwarp();
    out[t] = slots[t / 32 * 32 + 2];
}

int main() {
    Buffer<int> out(64);
    relay<<<1, 64>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == (i < 32 ? 34 : 2);
    return finish(right);
}
