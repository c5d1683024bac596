// Values of `bfloat` that live across branches and loops keep their bits; one made of a `float` is rounded.
#include <cuda_bf16.h>
#include <cmath>
#include <cstdint>
#include <cstring>
#include "check.h"

// Threads swap their two values in the rounds that their sum exceeds.
__global__ void choose(const uint16_t* in, const float* sums, uint16_t* out, int rounds) {
    int t = threadIdx.x;
    __bf16 chosen, other;
    memcpy(&chosen, in + t, 2);
    memcpy(&other, in + 31 - t, 2);
    for (int i = 0; i < rounds; i++) {
        if (sums[t] > i) {
            __bf16 before = chosen;
            chosen = other;
            other = before;
        }
        __syncthreads();
    }
    memcpy(out + t, &chosen, 2);
    memcpy(out + 32 + t, &other, 2);
    __bf16 rounded = (__bf16)sums[t];
    if (rounds > 100) rounded = chosen;
    memcpy(out + 64 + t, &rounded, 2);
}

int main() {
    Buffer<uint16_t> in(32), out(96);
    Buffer<float> sums(32);
    // Zeros, subnormal numbers, infinities, and NaNs with other bits, signalling ones too.
    const uint16_t some[] = {0, 0x8000, 1, 0x807f, 0x3f80, 0xff80, 0x7f81, 0xffc1};
    for (int i = 0; i < 32; i++) {
        in[i] = uint16_t(some[i % 8] + 0x100 * (i / 8 % 2));
        uint32_t bits = 0x3f800000u + 0x8000u * i + (i % 3 ? i % 3 - 1 : 0xffffffffu);
        memcpy(&sums[i], &bits, 4);
    }
    sums[31] = NAN;
    in.upload();
    sums.upload();
    choose<<<1, 32>>>(in.device, sums.device, out.device, 3);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 32; i++) {
        int swaps = 0;
        for (int round = 0; round < 3; round++) swaps += sums[i] > round;
        uint16_t mine = in[i], other = in[31 - i];
        right &= out[i] == (swaps % 2 ? other : mine) && out[32 + i] == (swaps % 2 ? mine : other);
        uint32_t bits;
        memcpy(&bits, &sums[i], 4);
        uint16_t near = uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
        if (i < 31) right &= out[64 + i] == near;
        else right &= (out[64 + i] & 0x7fff) > 0x7f80;
    }
    return finish(right);
}
