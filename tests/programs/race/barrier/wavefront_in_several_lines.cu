//@ revisions: racy fixed
//@[racy] findings: loop-back-edge
// Each round reads what the rounds before have written, in one statement of three lines.
#include "check.h"

__global__ void paths(int* out) {
    __shared__ int table[17][17];
    int t = threadIdx.x;
    table[0][t + 1] = table[t + 1][0] = 1;
    if (t == 0) table[0][0] = 1;
    __syncthreads();
    for (int round = 0; round < 31; round++) {
        int y = round - t;
        if (y >= 0 && y < 16) {
            table[y + 1][t + 1] = max(table[y][t + 1], //~ A
                                      max(table[y + 1][t], //~ B
                                          table[y][t])) + 1; //~ C
        }
#ifdef FIXED
        __syncthreads();
#endif
    }
    out[t] = table[16][t + 1];
}
//~ RACE[racy] write-read shared: A B
//~ RACE?[racy] write-read shared: A C
//~ RACE?[racy] read-write shared: B A
//~ RACE?[racy] read-write shared: C A

int main() {
    Buffer<int> out(16);
    paths<<<1, 16>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 16; i++) right &= out[i] == 17 + i;
    return finish(right);
}
