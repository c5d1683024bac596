// Integer intrinsics and PTX's rules for division, shifts and conversions.
#include <climits>
#include "check.h"

__global__ void compute(const int* in, int* out, const float* f) {
    int t = threadIdx.x, x = in[t];
    int* o = out + 12 * t;
    o[0] = __popc(x), o[1] = __clz(x), o[2] = __ffs(x), o[3] = __brev(x);
    o[4] = __byte_perm(x, 0x44332211, 0x5140), o[5] = __mulhi(x, 0x12345678);
    o[6] = (int)__umul64hi((unsigned long long)x << 20, 1ull << 50), o[7] = __sad(x, 100, 5);
    o[8] = __funnelshift_l(x, 0x80000001, 4), o[9] = __float2int_rn(f[t]);
    // Conversions saturate, where C++ leaves the result open.
    o[10] = (int)(f[t] * 1e12f), o[11] = __clzll((long long)x << 3);
}

int main() {
    const int n = 8;
    Buffer<int> in(n), out(12 * n);
    Buffer<float> f(n);
    int values[n] = {0, 1, -1, 12345, INT_MIN, INT_MAX, 0x00ff00ff, -100};
    for (int i = 0; i < n; i++) in[i] = values[i], f[i] = (i - 3) * 0.75f;
    in.upload(), f.upload();
    compute<<<1, n>>>(in.device, out.device, f.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < n; i++) {
        int x = values[i], *o = &out[12 * i];
        unsigned u = x, reversed = 0;
        for (int b = 0; b < 32; b++) reversed |= (u >> b & 1) << (31 - b);
        right &= o[0] == __builtin_popcount(u) && o[1] == (x ? __builtin_clz(u) : 32);
        right &= o[2] == __builtin_ffs(x) && o[3] == (int)reversed;
        // Selectors 0, 4, 1, 5 from the lowest byte up: bytes of x and of 0x44332211 take turns.
        right &= o[4] == (int)((u & 0xff) | 0x11 << 8 | (u >> 8 & 0xff) << 16 | 0x22u << 24);
        right &= o[5] == (int)(((long long)x * 0x12345678) >> 32);
        right &= o[6] == (int)((unsigned __int128)((unsigned long long)x << 20) * (1ull << 50) >> 64);
        right &= (unsigned)o[7] == (x > 100 ? u - 100u : 100u - u) + 5;
        right &= (unsigned)o[8] == (0x80000001u << 4 | u >> 28);
        float v = (i - 3) * 0.75f;
        right &= o[9] == (int)__builtin_rintf(v);
        right &= o[10] == (v > 0 ? INT_MAX : v < 0 ? INT_MIN : 0);
        unsigned long long w = (unsigned long long)(long long)x << 3;
        right &= o[11] == (w ? __builtin_clzll(w) : 64);
    }
    return finish(right);
}
