//@ revisions: racy from_the_end fixed
//@[racy] findings: out-of-bounds
//@[from_the_end] findings: missing-barrier
// The last block stores a row past its array, into the array that other blocks read. The program has so many arrays that
// these two lie side by side. So the end of one is the start of the other; who reads backwards from there stays inside.
#include <vector>

#include "check.h"

__global__ void shift(float* to, const float* from, int width) {
    int x = threadIdx.x, y = blockIdx.x;
#ifdef FIXED
    to[y * width + x] = from[y * width + x];
#elif defined(FROM_THE_END)
    int at = -1 - (y * width + x);
    to[at] = x;                               //~ SET
    if (x % 32 == 0 && x) to[at] = to[at + 1]; //~ NEXT
#else
    to[(y + 1) * width + x] = from[y * width + x]; //~ ROW
#endif
}
//~ RACE[racy] read-write|write-read global grid: ROW ROW
//~ RACE[from_the_end] write-read|read-write global block: SET NEXT

int main() {
    const int width = 64, height = 8, bytes = width * height * 4;
    std::vector<float*> arrays(2000);
    for (float*& array : arrays) cudaMalloc(&array, bytes);
    int last = arrays.size() - 1;
    while (arrays[last] != arrays[last - 1] + width * height) last--;
    cudaMemset(arrays[last], 0, bytes);
    SYNC();
#ifdef FROM_THE_END
    shift<<<height, width>>>(arrays[last], nullptr, width);
#else
    shift<<<height, width>>>(arrays[last - 1], arrays[last], width);
#endif
    SYNC();
    return finish(last > 0);
}
