// Device-scope atomics of many blocks and warps do not race with each other.
#include "check.h"

__global__ void work(int* sum, int* top, unsigned* bits, unsigned long long* wide) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(sum, i);
    atomicMax(top, i);
    atomicOr(bits, 1u << (i % 32));
    atomicAdd(wide, 1ull << 33);
    atomicAdd_system(sum, 1);
}

int main() {
    Buffer<int> sum(1), top(1);
    Buffer<unsigned> bits(1);
    Buffer<unsigned long long> wide(1);
    work<<<4, 64>>>(sum.device, top.device, bits.device, wide.device);
    SYNC();
    sum.download(), top.download(), bits.download(), wide.download();
    return finish(sum[0] == 255 * 128 + 256 && top[0] == 255 && bits[0] == ~0u && wide[0] == 256ull << 33);
}
