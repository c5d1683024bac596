//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// While a tile is worked on, the next one is fetched into registers and stored into the
// other buffer. With three stages in two buffers, the store meets the work.
#include "check.h"

__global__ void work(const int* in, int* out, int rounds) {
    __shared__ int tile[2][32];
    int t = threadIdx.x, lane = t % 32, sum = 0;
    if (t < 32) tile[0][lane] = in[lane];
    __syncthreads();
    for (int k = 0; k < rounds; k++) {
        if (t < 32) {
            if (k + 1 < rounds) {
#ifdef FIXED
                tile[(k + 1) % 2][lane] = in[(k + 1) * 32 + lane];
#else
                tile[k % 2][lane] = in[(k + 1) * 32 + lane]; //~ A
#endif
            }
        } else {
            for (int i = 0; i < 32; i++) sum += tile[k % 2][i] * (lane + 1); //~ B
        }
        __syncthreads();
    }
    if (t >= 32) out[lane] = sum;
}
//~ RACE[racy] write-read|read-write shared block: A B

int main() {
    const int rounds = 5;
    Buffer<int> in(32 * rounds), out(32);
    iota(in);
    work<<<1, 64>>>(in.device, out.device, rounds);
    SYNC();
    out.download();
    int sum = 0;
    for (int i = 0; i < 32 * rounds; i++) sum += i;
    bool right = true;
    for (int i = 0; i < 32; i++) right &= out[i] == sum * (i + 1);
    return finish(right);
}
