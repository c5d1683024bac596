//@ revisions: racy fixed
//@[racy] findings: overlapping-atomics
// Flag and value of a look-back share one 64-bit word, which is loaded and stored as a whole, without any fence. The racy
// program stores its halves one after the other.
#include <cuda/atomic>
#include "check.h"

typedef unsigned long long Word;

__global__ void scan(const int* in, Word* words, int* out) {
    if (threadIdx.x) return;
    int b = blockIdx.x, before = 0;
    for (int i = b - 1; i >= 0; i--) {
        cuda::atomic_ref<Word, cuda::thread_scope_device> word(words[i]);
        Word seen;
        do seen = word.load(cuda::memory_order_relaxed); //~ LOAD
        while (seen >> 32 == 0);
        before += (int)seen;
        if (seen >> 32 == 2) break;
        if (i == 0) break;
    }
    Word own = 2ull << 32 | (unsigned)(before + in[b]);
#ifdef RACY
    unsigned int* half = (unsigned int*)&words[b];
    cuda::atomic_ref<unsigned int, cuda::thread_scope_device>(half[0]).store((unsigned)own, cuda::memory_order_relaxed); //~ LOW
    cuda::atomic_ref<unsigned int, cuda::thread_scope_device>(half[1]).store(own >> 32, cuda::memory_order_relaxed); //~ HIGH
#else
    cuda::atomic_ref<Word, cuda::thread_scope_device>(words[b]).store(own, cuda::memory_order_relaxed);
#endif
    out[b] = before + in[b];
}
//~ RACE[racy] atomic-atomic global grid: LOW LOAD
//~ RACE[racy] atomic-atomic global grid: HIGH LOAD

int main() {
    Buffer<int> in(8), out(8);
    Buffer<Word> words(8);
    iota(in);
    scan<<<8, 32>>>(in.device, words.device, out.device);
    SYNC();
    out.download();
    return finish(out[7] == 28);
}
