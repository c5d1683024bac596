//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// An 8-byte store against a 4-byte load of its upper half.
#include "check.h"

union Cell {
    double whole;
    float half[2];
};

__global__ void convert(Cell* cells, float* out) {
    if (threadIdx.x == 0) cells->whole = 1.0; //~ A
#ifdef FIXED
    __syncthreads();
#endif
    if (threadIdx.x == 32) *out = cells->half[1]; //~ B
}
//~ RACE[racy] write-read global block: A B

int main() {
    Buffer<Cell> cells(1);
    Buffer<float> out(1);
    convert<<<1, 64>>>(cells.device, out.device);
    SYNC();
    out.download();
    // The upper half of 1.0 is 0x3ff00000, which is 1.875 as a float.
    return finish(out[0] == 1.875f);
}
