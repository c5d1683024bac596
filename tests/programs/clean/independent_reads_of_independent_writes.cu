// Two blocks publish one value each, two others wait for both in opposite order.
#include "check.h"

__device__ void wait_for(int* flag) {
    while (atomicAdd(flag, 0) == 0) {
    }
    __threadfence();
}

__global__ void run(int* values, int* flags, int* out) {
    if (threadIdx.x) return;
    int b = blockIdx.x;
    if (b < 2) {
        values[b] = 10 + b;
        __threadfence();
        atomicExch(&flags[b], 1);
    } else {
        wait_for(&flags[b - 2]);
        int first = values[b - 2];
        wait_for(&flags[3 - b]);
        out[b - 2] = first * 100 + values[3 - b];
    }
}

int main() {
    Buffer<int> values(2), flags(2), out(2);
    run<<<4, 32>>>(values.device, flags.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 1011 && out[1] == 1110);
}
