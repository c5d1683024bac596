// What nvcc reads and clang does not: registers with one `%`, also in raw strings, a launch's shape in braces, and a
// function that has the name of one of clang's.
#include "check.h"

static unsigned long long __rdtsc() { return 42; }

__device__ unsigned low_product(unsigned a, unsigned b) {
    unsigned r;
    asm("{.reg .u16 %al, %ah, %bl, %bh;\n\t"
        "mov.b32 {%al, %ah}, %1;\n\t"
        "mov.b32 {%bl, %bh}, %2;\n\t"
        "mul.wide.u16 %0, %al, %bl;}"
        : "=r"(r)
        : "r"(a), "r"(b));
    return r;
}

__global__ void fill(unsigned* out) {
    unsigned lane;
    asm(R"({ mov.u32 %0, %laneid; // "the lane"
           })"
        : "=r"(lane));
    out[threadIdx.y * blockDim.x + threadIdx.x] = low_product(lane | 7 << 16, 3 | 5 << 16);
}

int main() {
    Buffer<unsigned> out(64);
    unsigned rows = 2;
    fill<<<1, {32, rows, 1}, 0>>>(out.device);
    SYNC();
    out.download();
    bool right = __rdtsc() == 42;
    for (unsigned i = 0; i < 64; i++) right = right && out[i] == i % 32 * 3;
    return finish(right);
}
