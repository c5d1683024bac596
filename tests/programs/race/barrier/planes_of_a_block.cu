//@ revisions: racy other_row fixed
//@[other_row] findings: missing-barrier
//@[racy] findings: missing-barrier
// A block of three dimensions: each thread's element follows from all three of its indices.
#include "check.h"

__global__ void planes(int pitch, int slice, int* data) {
    int at = threadIdx.z * slice + threadIdx.y * pitch + threadIdx.x;
    if ((threadIdx.x + threadIdx.y) % 3 != 0) data[at] = at; //~ A
#ifdef FIXED
    __syncthreads();
#endif
#ifdef OTHER_ROW
    int from = at + pitch;
#else
    int from = at + 1;
#endif
    data[1024 + at] = data[from]; //~ B
}
//~ RACE[racy] write-read global warp: A B
//~ RACE[other_row] write-read global warp: A B

int main() {
    Buffer<int> data(2048);
    // Rows of 10 with room between them, and without.
    planes<<<1, dim3(10, 4, 3)>>>(16, 64, data.device);
    SYNC();
    planes<<<1, dim3(10, 4, 3)>>>(10, 40, data.device);
    SYNC();
    return finish(true);
}
