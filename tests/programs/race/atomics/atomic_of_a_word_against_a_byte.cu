//@ revisions: racy fixed
//@[racy] findings: missing-atomic
// An atomic on a word against a plain load of its lowest byte.
#include "check.h"

__global__ void count(int* word, int* out) {
    int t = threadIdx.x;
    if (t < 32)
        atomicAdd(word, 1); //~ A
    else if (t == 32)
#ifdef FIXED
        *out = atomicAdd(word, 0) & 255;
#else
        *out = *reinterpret_cast<unsigned char*>(word); //~ B
#endif
}
//~ RACE[racy] atomic-read global block: A B

int main() {
    Buffer<int> word(1), out(1);
    count<<<1, 64>>>(word.device, out.device);
    SYNC();
    word.download();
    out.download();
    return finish(word[0] == 32 && out[0] <= 32);
}
