//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// Bitonic sort in shared memory. Steps whose partners lie in one warp are left without
// a barrier, and nothing else syncs them.
#include "check.h"

__global__ void sort(int* data) {
    __shared__ int tile[128];
    int t = threadIdx.x;
    tile[t] = data[t];
    __syncthreads();
    for (int size = 2; size <= 128; size *= 2)
        for (int s = size / 2; s > 0; s /= 2) {
            int other = t ^ s;
            if (other > t) {
                int low = tile[t], high = tile[other]; //~ R
                if ((low > high) == ((t & size) == 0)) {
                    tile[t] = high; //~ A
                    tile[other] = low; //~ B
                }
            }
#ifdef RACY
            if (s > 16)
#endif
                __syncthreads();
        }
    __syncthreads();
    data[t] = tile[t];
}
//~ RACE[racy] write-read shared: A R
//~ RACE[racy] write-read shared: B R
//~ RACE?[racy] write-write shared: A A
//~ RACE?[racy] write-write shared: A B
//~ RACE?[racy] write-write shared: B B

int main() {
    Buffer<int> data(128);
    for (int i = 0; i < 128; i++) data[i] = i * 77 % 128;
    data.upload();
    sort<<<1, 128>>>(data.device);
    SYNC();
    data.download();
    bool right = true;
    for (int i = 0; i < 128; i++) right &= data[i] == i;
    return finish(right);
}
