//@ revisions: racy fixed
//@[racy] findings: missing-barrier|loop-back-edge
// Neighbours are exchanged in rounds, a barrier after each one. Without it, all races are one mistake, whether they are
// within a round or from one to the next. The cause is the end of the round, if some race shows that.
#include "check.h"

__global__ void sort(int* data) {
    __shared__ int tile[128];
    int t = threadIdx.x;
    tile[t] = data[t];
    __syncthreads();
    for (int round = 0; round < 128; round++) {
        int i = 2 * t + round % 2;
        if (i + 1 < 128 && tile[i] > tile[i + 1]) { //~ LOOK
            int larger = tile[i];  //~ KEEP
            tile[i] = tile[i + 1]; //~ DOWN
            tile[i + 1] = larger;  //~ UP
        }
#ifdef FIXED
        __syncthreads();
#endif
    }
    __syncthreads();
    data[t] = tile[t];
}
//~ RACE?[racy] read-write|write-read shared: LOOK DOWN
//~ RACE?[racy] read-write|write-read shared: LOOK UP
//~ RACE?[racy] read-write|write-read|write-write shared: DOWN UP
//~ RACE?[racy] read-write|write-read|write-write shared: DOWN DOWN
//~ RACE?[racy] write-write shared: UP UP
//~ RACE?[racy] read-write|write-read shared: KEEP DOWN
//~ RACE?[racy] read-write|write-read shared: KEEP UP

int main() {
    Buffer<int> data(128);
    for (int i = 0; i < 128; i++) data[i] = i * 89 % 128;
    data.upload();
    sort<<<1, 128>>>(data.device);
    SYNC();
    data.download();
    bool right = true;
    for (int i = 0; i < 128; i++) right &= data[i] == i;
    return finish(right);
}
