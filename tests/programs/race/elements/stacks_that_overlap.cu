//@ revisions: racy fixed
//@[racy] findings: several-writers
// Each thread has a stack in shared memory, and clears it when it is done. The stride of the racy form is too short, so a
// thread also clears what the next one pushes, and what that one clears.
#include "check.h"

#ifdef FIXED
const int STRIDE = 16;
#else
const int STRIDE = 12;
#endif

__global__ void visit(const int* depths, int* sums) {
    __shared__ int stacks[32 * 16];
    int* mine = stacks + threadIdx.x * STRIDE;
    int top = 0, sum = 0;
    for (int i = 0; i < depths[threadIdx.x]; i++) mine[top++] = i + 1; //~ PUSH
    for (int i = 0; i < top; i++) sum += i;
    for (int i = 0; i < 16; i++) mine[i] = 0; //~ CLEAR
    sums[threadIdx.x] = sum;
}

int main() {
    Buffer<int> depths(32), sums(32);
    for (int i = 0; i < 32; i++) depths[i] = i % 8;
    depths.upload();
    visit<<<1, 32>>>(depths.device, sums.device);
    SYNC();
    sums.download();
    bool right = true;
    for (int i = 0; i < 32; i++) right &= sums[i] == depths[i] * (depths[i] - 1) / 2;
    return finish(right);
}
//~ RACE[racy] write-write shared: PUSH CLEAR
//~ RACE[racy] write-write shared: CLEAR CLEAR
//~ RACE?[racy] write-write shared: PUSH PUSH
