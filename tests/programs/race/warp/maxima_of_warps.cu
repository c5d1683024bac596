//@ revisions: racy fixed across
//@[racy] findings: several-writers
//@[across] findings: missing-barrier
// Each warp looks for its maximum in shared memory, in several rounds, and the warps share what each should have of its
// own. In the third form each thread has its own element, and reads one of another warp behind no more than a sync of
// its own warp: there a barrier is what lacks.
#include "check.h"

__global__ void maxima(const int* in, int* out, int rounds) {
    __shared__ int slots[64];
    int t = threadIdx.x, lane = t % 32;
#ifdef RACY
    int* own = slots;
#else
    int* own = slots + t / 32 * 32;
#endif
    for (int r = 0; r < rounds; r++) {
        own[lane] = in[r * 64 + t]; //~ A
        __syncwarp();
#ifdef ACROSS
        int most = slots[63 - t]; //~ C
#else
        int most = 0;
        for (int i = 0; i < 32; i++) most = max(most, own[i]); //~ B
#endif
        __syncwarp();
        out[r * 64 + t] = most;
    }
}
//~ RACE[racy] write-read|read-write shared block: A B
//~ RACE?[racy] write-write shared block: A A
//~ RACE[across] write-read|read-write shared block: A C

int main() {
    const int rounds = 3;
    Buffer<int> in(rounds * 64), out(rounds * 64);
    iota(in);
    maxima<<<1, 64>>>(in.device, out.device, rounds);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < rounds * 64; i++) right &= out[i] == i / 32 * 32 + 31;
#ifdef FIXED
    return finish(right);
#else
    return finish(right || true);
#endif
}
