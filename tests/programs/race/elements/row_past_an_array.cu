//@ revisions: racy fixed
//@[racy] findings: out-of-bounds
// The last block stores a row past its array, into the array that other blocks read. The program has so many arrays that
// these two lie side by side.
#include <vector>

#include "check.h"

__global__ void shift(float* to, const float* from, int width) {
    int x = threadIdx.x, y = blockIdx.x;
#ifdef FIXED
    to[y * width + x] = from[y * width + x];
#else
    to[(y + 1) * width + x] = from[y * width + x]; //~ ROW
#endif
}
//~ RACE[racy] read-write|write-read global grid: ROW ROW

int main() {
    const int width = 64, height = 8, bytes = width * height * 4;
    std::vector<float*> arrays(2000);
    for (float*& array : arrays) cudaMalloc(&array, bytes);
    int last = arrays.size() - 1;
    while (arrays[last] != arrays[last - 1] + width * height) last--;
    cudaMemset(arrays[last], 0, bytes);
    SYNC();
    shift<<<height, width>>>(arrays[last - 1], arrays[last], width);
    SYNC();
    return finish(last > 0);
}
