//@ seeds: 0
//@ stderr-contains: ldmatrix
// An instruction that the executor lacks ends the launch that reaches it, by name; others run.
#include "check.h"

__global__ void load(int* out, bool reach) {
    __shared__ int tile[64];
    tile[threadIdx.x] = threadIdx.x;
    __syncwarp();
    int value = 5;
    if (reach) {
        unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(tile));
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(value) : "r"(address));
    }
    out[threadIdx.x] = value;
}

int main() {
    Buffer<int> out(32);
    load<<<1, 32>>>(out.device, false);
    SYNC();
    out.download();
    bool right = out[31] == 5;
    load<<<1, 32>>>(out.device, true);
    return finish(right && cudaDeviceSynchronize() != cudaSuccess);
}
