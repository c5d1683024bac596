//@ compile-flags: --cuda-gpu-arch=sm_80
// `__reduce_*_sync`: sums, extremes and bitwise reductions of one instruction.
#include "check.h"

__global__ void reduce(unsigned* u, int* s) {
    int t = threadIdx.x, v = (t * 37) % 64 - 20;
    if (t < 16) {
        u += 5 * t, s += 3 * t;
        u[0] = __reduce_add_sync(0xffffu, (unsigned)t);
        u[1] = __reduce_or_sync(0xffffu, 1u << t);
        u[2] = __reduce_and_sync(0xffffu, 0xf0u | t);
        u[3] = __reduce_xor_sync(0xffffu, (unsigned)t * 5);
        u[4] = __reduce_max_sync(0xffffu, (unsigned)v);
        s[0] = __reduce_add_sync(0xffffu, v);
        s[1] = __reduce_min_sync(0xffffu, v);
        s[2] = __reduce_max_sync(0xffffu, v);
    }
}

int main() {
    Buffer<unsigned> u(5 * 16);
    Buffer<int> s(3 * 16);
    reduce<<<1, 32>>>(u.device, s.device);
    SYNC();
    u.download(), s.download();
    unsigned sum = 0, bits = 0, ands = ~0u, xors = 0, top = 0;
    int total = 0, low = 1000, high = -1000;
    for (int t = 0; t < 16; t++) {
        int v = (t * 37) % 64 - 20;
        sum += t, bits |= 1u << t, ands &= 0xf0u | t, xors ^= t * 5u;
        top = (unsigned)v > top ? v : top;
        total += v, low = v < low ? v : low, high = v > high ? v : high;
    }
    bool right = true;
    for (int t = 0; t < 16; t++) {
        const unsigned* a = &u[5 * t];
        const int* b = &s[3 * t];
        right &= a[0] == sum && a[1] == bits && a[2] == ands && a[3] == xors && a[4] == top;
        right &= b[0] == total && b[1] == low && b[2] == high;
    }
    return finish(right);
}
