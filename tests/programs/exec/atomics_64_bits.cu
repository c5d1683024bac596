// 64-bit atomics, and 16-bit compare-and-swap.
#include "check.h"

__global__ void atomics(unsigned long long* u, long long* s, unsigned short* h) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&u[0], 0x100000001ull);
    atomicExch(&u[1], 5ull << 40);
    atomicMax(&u[2], (unsigned long long)i << 33);
    atomicOr(&u[3], 1ull << i % 64);
    atomicAnd(&u[4], ~(1ull << i % 32));
    atomicXor(&u[5], 1ull << 63);
    atomicMin(&s[0], -(long long)i << 33);
    atomicMax(&s[1], -(long long)i - 1);
    unsigned long long seen = 0, old;
    do {
        old = seen;
        seen = atomicCAS(&u[6], old, old + 3);
    } while (seen != old);
    // The neighbour in the same word must keep its value.
    unsigned short now = 0, before;
    do {
        before = now;
        now = atomicCAS(&h[1], before, (unsigned short)(before + 1));
    } while (now != before);
}

int main() {
    Buffer<unsigned long long> u(7);
    Buffer<long long> s(2);
    Buffer<unsigned short> h(4);
    u[4] = ~0ull, s[1] = -1000, h[0] = 0xaaaa, h[2] = 0x5555;
    u.upload(), s.upload(), h.upload();
    atomics<<<2, 64>>>(u.device, s.device, h.device);
    SYNC();
    u.download(), s.download(), h.download();
    bool right = u[0] == 128 * 0x100000001ull && u[1] == 5ull << 40 && u[2] == 127ull << 33;
    right &= u[3] == ~0ull && u[4] == ~0ull << 32 && u[5] == 0 && u[6] == 384;
    right &= s[0] == -(127ll << 33) && s[1] == -1;
    return finish(right && h[0] == 0xaaaa && h[1] == 128 && h[2] == 0x5555);
}
