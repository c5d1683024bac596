//@ revisions: racy fixed
//@[racy] findings: unwaited-copy
// A product of tiles with two stages: some threads copy to the one array, others to the other one. The racy form waits
// for too few groups, once for both.
#include <cuda_pipeline.h>
#include "check.h"

__global__ void product(const int* a, const int* b, int* out, int rounds) {
    __shared__ alignas(16) int as[2][16][16], bs[2][16][16];
    int x = threadIdx.x % 16, y = threadIdx.x / 16;
    auto load = [&](int stage, int round) {
        int at = threadIdx.x % 64;
        if (threadIdx.x < 64)
            __pipeline_memcpy_async(&as[stage][at / 4][at % 4 * 4], &a[round * 256 + at * 4], 16); //~ A
        else if (threadIdx.x < 128)
            __pipeline_memcpy_async(&bs[stage][at / 4][at % 4 * 4], &b[round * 256 + at * 4], 16); //~ B
        __pipeline_commit();
    };
    int sum = 0;
    load(0, 0);
    for (int round = 0; round < rounds; round++) {
        if (round + 1 < rounds) {
            load((round + 1) % 2, round + 1);
#ifdef FIXED
            __pipeline_wait_prior(1);
#else
            __pipeline_wait_prior(2);
#endif
        } else {
            __pipeline_wait_prior(0);
        }
        __syncthreads();
        for (int k = 0; k < 16; k++)
            sum += as[round % 2][y][k] * bs[round % 2][k][x]; //~ USE
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}

int main() {
    const int rounds = 3;
    Buffer<int> a(rounds * 256), b(rounds * 256), out(256);
    iota(a);
    iota(b);
    product<<<1, 256>>>(a.device, b.device, out.device, rounds);
    SYNC();
    out.download();
    bool right = true;
    for (int t = 0; t < 256; t++) {
        int sum = 0;
        for (int r = 0; r < rounds; r++)
            for (int k = 0; k < 16; k++) sum += a[r * 256 + t / 16 * 16 + k] * b[r * 256 + k * 16 + t % 16];
        right &= sum == out[t];
    }
    return finish(right);
}
//~ RACE[racy] write-read shared: A USE
//~ RACE[racy] write-read shared: B USE
//~ RACE?[racy] write-write shared: A A
//~ RACE?[racy] write-write shared: B B
