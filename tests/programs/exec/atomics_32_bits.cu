// Every 32-bit atomic: the final value and the set of old values.
#include "check.h"

__global__ void atomics(int* s, unsigned* u, int* old) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    old[i] = atomicAdd(&s[0], 3);
    atomicSub(&s[1], i);
    atomicMin(&s[2], 50 - i);
    atomicMax(&s[3], i - 50);
    atomicExch(&s[4], 7);
    atomicCAS(&s[5], 0, 9);
    atomicInc(&u[0], 9);
    atomicDec(&u[1], 9);
    atomicAnd(&u[2], ~(1u << i % 8));
    atomicOr(&u[3], 1u << i % 8);
    atomicXor(&u[4], 1u << i % 8);
    atomicMin(&u[5], 0x80000000u + i);
    atomicMax(&u[6], 0x80000000u + i);
    atomicAdd(&u[7], 0xffffffffu);
}

int main() {
    Buffer<int> s(6), old(128);
    Buffer<unsigned> u(8);
    u[2] = 0xffff, u[5] = ~0u;
    s.upload(), u.upload();
    atomics<<<2, 64>>>(s.device, u.device, old.device);
    SYNC();
    s.download(), u.download(), old.download();
    bool seen[128] = {}, right = true;
    for (int i = 0; i < 128; i++) {
        int k = old[i] / 3;
        right &= old[i] % 3 == 0 && k >= 0 && k < 128 && !seen[k];
        seen[k] = true;
    }
    right &= s[0] == 384 && s[1] == -127 * 64 && s[2] == -77 && s[3] == 77 && s[4] == 7 && s[5] == 9;
    // 128 steps modulo 10, upwards; downwards it starts at 0 and wraps to 9 at once.
    right &= u[0] == 8 && u[1] == 2 && u[2] == 0xff00 && u[3] == 0xff && u[4] == 0;
    right &= u[5] == 0x80000000u && u[6] == 0x8000007fu && u[7] == (unsigned)-128;
    return finish(right);
}
