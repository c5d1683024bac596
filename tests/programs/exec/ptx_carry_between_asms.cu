// Numbers of several words, word by word: the carry goes from one asm to the next, also out of inlined functions and
// around a loop that the compiler unrolls.
#include "check.h"

__device__ __forceinline__ unsigned add_cc(unsigned a, unsigned b) {
    unsigned r;
    asm volatile("add.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
__device__ __forceinline__ unsigned addc_cc(unsigned a, unsigned b) {
    unsigned r;
    asm volatile("addc.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
__device__ __forceinline__ unsigned addc(unsigned a, unsigned b) {
    unsigned r;
    asm volatile("addc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
template <int n> __device__ unsigned add(unsigned (&to)[n], const unsigned (&a)[n], const unsigned (&b)[n]) {
    to[0] = add_cc(a[0], b[0]);
#pragma unroll
    for (int i = 1; i < n; ++i) to[i] = addc_cc(a[i], b[i]);
    return addc(0, 0);
}
__global__ void sums(unsigned* out) {
    unsigned t = threadIdx.x;
    unsigned a[4] = {~0u - t, ~0u, t % 3 ? ~0u : 5, 7 * t}, b[4] = {t % 5, 0, 0, t % 2 ? ~0u : 9}, to[4];
    unsigned carry = add(to, a, b);
    for (int i = 0; i < 4; ++i) out[t * 8 + i] = to[i];
    out[t * 8 + 4] = carry;
    // 64 bits by 32: the low product, then the high one with what the sum carries.
    unsigned low, high;
    asm volatile("mad.lo.cc.u32 %0, %1, %2, %3;" : "=r"(low) : "r"(a[0]), "r"(t + 3), "r"(~t));
    asm volatile("madc.hi.u32 %0, %1, %2, %3;" : "=r"(high) : "r"(a[0]), "r"(t + 3), "r"(t));
    out[t * 8 + 5] = low;
    out[t * 8 + 6] = high;
    // A difference borrows. Another word's sum lies between, in an asm of its own.
    unsigned d0, d1;
    asm volatile("sub.cc.u32 %0, %1, %2;" : "=r"(d0) : "r"(t), "r"(20u));
    asm volatile("subc.u32 %0, %1, %2;" : "=r"(d1) : "r"(100u), "r"(1u));
    out[t * 8 + 7] = d0 ^ d1;
}
int main() {
    Buffer<unsigned> out(64 * 8);
    sums<<<1, 64>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (unsigned t = 0; t < 64; ++t) {
        const unsigned* got = out.host + t * 8;
        unsigned a[4] = {~0u - t, ~0u, t % 3 ? ~0u : 5, 7 * t}, b[4] = {t % 5, 0, 0, t % 2 ? ~0u : 9};
        unsigned long long carry = 0;
        for (int i = 0; i < 4; ++i) {
            carry += (unsigned long long)a[i] + b[i];
            right &= got[i] == (unsigned)carry;
            carry >>= 32;
        }
        right &= got[4] == carry;
        unsigned long long product = (unsigned long long)a[0] * (t + 3) + ~t + ((unsigned long long)t << 32);
        right &= got[5] == (unsigned)product && got[6] == (unsigned)(product >> 32);
        unsigned long long difference = (100ull << 32 | t) - (1ull << 32 | 20);
        right &= got[7] == ((unsigned)difference ^ (unsigned)(difference >> 32));
    }
    return finish(right);
}
