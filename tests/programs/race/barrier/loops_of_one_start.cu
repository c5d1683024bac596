//@ revisions: racy apart fixed
//@[racy] findings: missing-barrier
//@[apart] findings: missing-barrier
//@[racy] fixes: 1
//@[apart] fixes: 0
// A block reverses a row: two loops begin with the same index, so nothing stands between them but the barrier, which is
// missing. In the form `apart` some threads alone run the loops, where no barrier of the block has a place.
#ifndef FIXED
#define RACY
#endif
#include "check.h"

__global__ void reverse(int* rows, int length) {
    extern __shared__ int held[];
    int* row = rows + blockIdx.x * length;
    int t = threadIdx.x, step = blockDim.x;
#ifdef APART
    bool takes_part = t % 3 != 2;
    t -= t / 3;
    step -= step / 3;
    if (takes_part) {
#endif
    for (int i = t; i < length; i += step)
        held[i] = row[i]; //~ HOLD
#ifdef FIXED
    __syncthreads();
#endif
    for (int i = t; i < length; i += step)
        row[i] = held[length - 1 - i]; //~ USE
#ifdef APART
    }
#endif
}

int main() {
    const int length = 200;
    Buffer<int> rows(2 * length);
    iota(rows);
    reverse<<<2, 96, length * sizeof(int)>>>(rows.device, length);
    SYNC();
    rows.download();
    bool right = true;
    for (int i = 0; i < 2 * length; i++) right &= rows[i] == i / length * length + length - 1 - i % length;
    return finish(right);
}
//~ RACE[racy] write-read shared: HOLD USE
//~ RACE[apart] write-read shared: HOLD USE
