//@ revisions: racy fixed
//@[racy] findings: missing-fence
// Look-back with inclusive prefixes: a block passes on the prefix of the one before
// it. Flag and value in one 64-bit word need no order; in two words they do.
#include "check.h"

typedef unsigned long long Word;

__global__ void scan(const int* in, Word* words, int* values, int* out) {
    if (threadIdx.x) return;
    int b = blockIdx.x, before = 0;
    if (b > 0) {
        Word word;
        do word = atomicAdd(&words[b - 1], 0ull);
        while (word >> 32 == 0);
#ifdef FIXED
        before = (int)word;
#else
        before = values[b - 1]; //~ B
#endif
    }
    int own = before + in[b];
#ifdef RACY
    values[b] = own; //~ A
#endif
    atomicExch(&words[b], 1ull << 32 | (unsigned)own);
    out[b] = own;
}
//~ RACE[racy] write-read global grid: A B

int main() {
    Buffer<int> in(8), values(8), out(8);
    Buffer<Word> words(8);
    iota(in);
    scan<<<8, 32>>>(in.device, words.device, values.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 8; i++) right &= out[i] == i * (i + 1) / 2;
    return finish(right);
}
