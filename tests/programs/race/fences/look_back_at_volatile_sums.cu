//@ revisions: racy fixed
//@[racy] findings: missing-atomic
// Blocks hand their sums to the next ones in words that hold sum and state, and wait for them by `volatile` reads with a
// fence in the loop.
#include "check.h"

const int BINS = 32, BLOCKS = 6, TOTAL = 1 << 30, PART = 1 << 29;

__device__ void put(int* word, int value) {
#ifdef FIXED
    atomicExch(word, value);
#else
    *(volatile int*)word = value; //~ W
#endif
}

__device__ int get(int* word) {
#ifdef FIXED
    return atomicAdd(word, 0);
#else
    return *(volatile int*)word; //~ R
#endif
}

__global__ void sums(int* ticket, int* words, const int* in, int* out) {
    __shared__ int block;
    int t = threadIdx.x;
    if (t == 0) block = atomicAdd(ticket, 1);
    __syncthreads();
    int own = in[block * BINS + t], before = 0;
    put(&words[block * BINS + t], own | (block ? PART : TOTAL));
    for (int other = block - 1; other >= 0; other--) {
        int found = 0;
        do {
            __threadfence_block();
            found = get(&words[other * BINS + t]);
        } while (found == 0);
        before += found & (PART - 1);
        if (found & TOTAL) break;
    }
    if (block) put(&words[block * BINS + t], (before + own) | TOTAL);
    out[block * BINS + t] = before + own;
}
//~ RACE[racy] write-read|read-write global grid: W R

int main() {
    Buffer<int> ticket(1), words(BINS * BLOCKS), in(BINS * BLOCKS), out(BINS * BLOCKS);
    iota(in);
    sums<<<BLOCKS, BINS>>>(ticket.device, words.device, in.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int b = 0, i = 0; b < BLOCKS; b++) {
        for (int t = 0; t < BINS; t++, i++) {
            int sum = 0;
            for (int o = 0; o <= b; o++) sum += o * BINS + t;
            right &= out[i] == sum;
        }
    }
    return finish(right);
}
