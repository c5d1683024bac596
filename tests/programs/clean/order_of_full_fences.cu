//@ known-alarm: two `fence.sc` do not order each other
// PTX puts `fence.sc` in one order, and what is before one of them is before what follows a later one. Here
// block 0 says that it has seen nothing of block 1, whose fence then comes after its own: the write is before the read.
// Nothing is released or acquired: block 1 reads what block 0 says only after its fence.
#include "check.h"

__device__ int x;
__device__ unsigned y, z;

__device__ unsigned load(unsigned* at) {
    unsigned value;
    asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}

__device__ void store(unsigned* at, unsigned value) {
    asm volatile("st.relaxed.gpu.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}

__global__ void run(int* out) {
    if (blockIdx.x == 0) {
        x = 1;
        asm volatile("fence.sc.gpu;" ::: "memory");
        if (load(&y) == 0) store(&z, 1);
    } else {
        store(&y, 1);
        asm volatile("fence.sc.gpu;" ::: "memory");
        *out = load(&z) == 1 ? x : 1;
    }
}

int main() {
    Buffer<int> out(1);
    run<<<2, 1>>>(out.device);
    SYNC();
    out.download();
    return finish(out[0] == 1);
}
