//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// A Walsh-Hadamard transform by butterflies in shared memory, a barrier per stage.
#include "check.h"

__global__ void transform(int* data) {
    __shared__ int tile[128];
    int t = threadIdx.x;
    tile[t] = data[t];
    tile[t + 64] = data[t + 64];
    __syncthreads();
    for (int s = 1; s < 128; s *= 2) {
        int i = t / s * 2 * s + t % s;
        int a = tile[i], b = tile[i + s]; //~ R
        tile[i] = a + b; //~ A
        tile[i + s] = a - b; //~ B
#ifdef FIXED
        __syncthreads();
#endif
    }
#ifdef RACY
    __syncthreads();
#endif
    data[t] = tile[t];
    data[t + 64] = tile[t + 64];
}
//~ RACE[racy] write-read shared: A R
//~ RACE[racy] write-read shared: B R
//~ RACE?[racy] write-write shared: A A
//~ RACE?[racy] write-write shared: A B
//~ RACE?[racy] write-write shared: B B

int main() {
    Buffer<int> data(128);
    data[5] = 1;
    data.upload();
    transform<<<1, 64>>>(data.device);
    SYNC();
    data.download();
    bool right = true;
    for (int i = 0; i < 128; i++) right &= data[i] == (__builtin_popcount(i & 5) % 2 ? -1 : 1);
    return finish(right);
}
