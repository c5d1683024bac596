//@ revisions: racy fixed
//@[racy] findings: same-value
// Many threads raise one flag. All write 1: a race still, told apart.
#include "check.h"

__global__ void any_negative(const int* in, int* found) {
#ifdef FIXED
    if (in[threadIdx.x] < 0) atomicExch(found, 1);
#else
    if (in[threadIdx.x] < 0) *found = 1; //~ A
#endif
}
//~ RACE[racy] write-write global same-value: A A

int main() {
    Buffer<int> in(64), found(1);
    for (int i = 0; i < 64; i++) in[i] = i % 5 - 2;
    in.upload();
    any_negative<<<1, 64>>>(in.device, found.device);
    SYNC();
    found.download();
    return finish(found[0] == 1);
}
