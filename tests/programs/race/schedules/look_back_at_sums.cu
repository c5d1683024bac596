//@ revisions: sums totals fixed
//@ opt: O1
//@[sums] findings: missing-fence
//@[totals] findings: missing-fence
// A look-back with two flags: a block's own sum is there, or the total up to it. Which of the two a block
// finds depends on how far the blocks before it are. One of the two is not released.
#include "check.h"

__global__ void scan(const int* in, int* sums, int* totals, int* flags) {
    if (threadIdx.x) return;
    int b = blockIdx.x, own = in[b];
    sums[b] = own; //~ A
#ifndef SUMS
    __threadfence();
#endif
    atomicExch(&flags[b], 1);
    int total = own;
    for (int p = b - 1; p >= 0; p--) {
        int state;
        do {
            state = atomicAdd(&flags[p], 0);
        } while (state == 0);
        __threadfence();
        if (state == 2) {
            total += totals[p]; //~ B
            break;
        }
        total += sums[p]; //~ C
    }
    totals[b] = total; //~ D
#ifndef TOTALS
    __threadfence();
#endif
    atomicExch(&flags[b], 2);
}
//~ RACE[sums] write-read global grid: A C
//~ RACE[totals] write-read global grid: D B

int main() {
    Buffer<int> in(6), sums(6), totals(6), flags(6);
    iota(in);
    scan<<<6, 32>>>(in.device, sums.device, totals.device, flags.device);
    SYNC();
    totals.download();
    return finish(totals[5] == 15);
}
