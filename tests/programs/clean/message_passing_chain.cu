// Order is transitive: block 0 hands over to block 1, block 1 to block 2.
#include "check.h"

__device__ void raise(int* flag) {
    __threadfence();
    atomicExch(flag, 1);
}
__device__ void await(int* flag) {
    while (atomicAdd(flag, 0) == 0) {
    }
    __threadfence();
}

__global__ void relay(int* value, int* flags, int* out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        *value = 20;
        raise(&flags[0]);
    } else if (blockIdx.x == 1) {
        await(&flags[0]);
        raise(&flags[1]);
    } else {
        await(&flags[1]);
        *out = *value + 1;
    }
}

int main() {
    Buffer<int> value(1), flags(2), out(1);
    relay<<<3, 32>>>(value.device, flags.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 21);
}
