//@ revisions: racy fixed
//@[racy] findings: missing-atomic
// Flags packed into bytes are set by load, or, store: eight threads share a byte.
#include "check.h"

__global__ void mark(unsigned char* bits, unsigned* words, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i % 3 == 0 && i < n) {
#ifdef FIXED
        atomicOr(&words[i / 32], 1u << i % 32);
#else
        bits[i / 8] |= 1 << i % 8; //~ A
#endif
    }
}
//~ RACE[racy] write-read|write-write global: A A

int main() {
    const int n = 128;
    Buffer<unsigned> words(n / 32);
    mark<<<2, 64>>>((unsigned char*)words.device, words.device, n);
    SYNC();
    words.download();
    bool right = true;
    for (int i = 0; i < n; i++) right &= (words[i / 32] >> i % 32 & 1) == (i % 3 == 0);
    return finish(right);
}
