//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// `memset` in a kernel writes its whole destination.
#include "check.h"

__global__ void clear(int* words, int* out, int bytes) {
    if (threadIdx.x == 0) memset(words, 0, bytes); //~ A
#ifdef FIXED
    __syncthreads();
#endif
    if (threadIdx.x == 32) *out = words[7]; //~ B
}
//~ RACE[racy] write-read global block: A B

int main() {
    Buffer<int> words(16), out(1);
    iota(words);
    clear<<<1, 64>>>(words.device, out.device, 32);
    SYNC();
    words.download();
    out.download();
    return finish(out[0] == 0 && words[7] == 0 && words[8] == 8);
}
