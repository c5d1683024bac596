//@ revisions: racy fixed
//@[racy] findings: missing-barrier missing-barrier
// A race found on a word does not hide a later, different one on it.
#include "check.h"

__global__ void work(int* word, int* out) {
    int t = threadIdx.x;
    if (t == 0) *word = 1; //~ A
#ifdef FIXED
    __syncthreads();
#endif
    if (t == 32) out[0] = *word; //~ B
    __syncthreads();
    if (t == 64) *word = 2; //~ C
#ifdef FIXED
    __syncthreads();
#endif
    if (t == 96) out[1] = *word; //~ D
}
//~ RACE[racy] write-read global block: A B
//~ RACE[racy] write-read global block: C D

int main() {
    Buffer<int> word(1), out(2);
    work<<<1, 128>>>(word.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 1 && out[1] == 2);
}
