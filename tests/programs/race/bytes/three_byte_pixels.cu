//@ revisions: racy fixed
//@[racy] findings: several-writers
// Pixels of three bytes straddle words. Writing each pixel's bytes alone is no race;
// writing four bytes at a pixel's address reaches into the next one.
#include "check.h"

__global__ void fill(unsigned char* image) {
    int t = threadIdx.x;
#ifdef FIXED
    for (int c = 0; c < 3; c++) image[3 * t + c] = t + c;
#else
    unsigned rgb = t | (t + 1) << 8 | (t + 2) << 16;
    memcpy(&image[3 * t], &rgb, 4); //~ A
#endif
}
//~ RACE[racy] write-write global: A A

int main() {
    Buffer<unsigned char> image(3 * 64 + 1);
    fill<<<1, 64>>>(image.device);
    SYNC();
    image.download();
    bool right = true;
    for (int i = 0; i < 64; i++)
        for (int c = 0; c < 3; c++) right &= image[3 * i + c] == i + c;
    return finish(right);
}
