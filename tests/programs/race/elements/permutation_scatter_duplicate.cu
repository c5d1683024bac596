//@ revisions: racy fixed
//@[racy] findings: several-writers
// A scatter through an index array races exactly where an index occurs twice.
#include "check.h"

__global__ void scatter(const int* index, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[index[i]] = i; //~ A
}
//~ RACE[racy] write-write global other-value: A A

int main() {
    Buffer<int> index(128), out(128);
    for (int i = 0; i < 128; i++) index[i] = (i * 37) % 128;
#ifdef RACY
    index[100] = index[3];
#endif
    index.upload();
    scatter<<<4, 32>>>(index.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 128; i++) right &= out[(i * 37) % 128] == i;
    return finish(right);
}
