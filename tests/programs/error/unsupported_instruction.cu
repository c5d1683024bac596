//@ seeds: 0
//@ stderr-contains: vmad.s32.s32.s32
// An instruction that the executor lacks ends the launch that reaches it, by name; others run.
#include "check.h"

__global__ void multiply(int* out, bool reach) {
    int value = 5;
    if (reach) asm volatile("vmad.s32.s32.s32 %0, %1, %1, %1;" : "=r"(value) : "r"(threadIdx.x));
    out[threadIdx.x] = value;
}

int main() {
    Buffer<int> out(32);
    multiply<<<1, 32>>>(out.device, false);
    SYNC();
    out.download();
    bool right = out[31] == 5;
    multiply<<<1, 32>>>(out.device, true);
    return finish(right && cudaDeviceSynchronize() != cudaSuccess);
}
