//@ revisions: racy fixed
//@[racy] findings: several-writers
// Two branches, of different threads, write one element. A compiler may make one store of both, which would
// have the line of neither.
#include "check.h"

__global__ void mark(int* out) {
    if (threadIdx.x == 0) {
        out[0] = 1; //~ A
    }
    if (threadIdx.x == 32) {
#ifdef FIXED
        out[1] = 2;
#else
        out[0] = 2; //~ B
#endif
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        out[2] = out[0] + 1;
    }
}
//~ RACE[racy] write-write global block: A B

int main() {
    Buffer<int> out(3);
    mark<<<1, 64>>>(out.device);
    SYNC();
    out.download();
    return finish(out[0] == 1 && out[1] == 2 && out[2] == 2);
}
