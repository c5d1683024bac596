//@ revisions: racy fixed
//@[racy] findings: loop-back-edge
// One barrier per round is enough with two buffers, and too little with one.
#include "check.h"

#ifdef FIXED
constexpr int BUFFERS = 2;
#else
constexpr int BUFFERS = 1;
#endif

__global__ void shift(int* data, int rounds) {
    __shared__ int tile[BUFFERS][64];
    int t = threadIdx.x, value = data[t];
    for (int k = 0; k < rounds; k++) {
        tile[k % BUFFERS][t] = value; //~ A
        __syncthreads();
        value = tile[k % BUFFERS][(t + 1) % 64]; //~ B
    }
    data[t] = value;
}
//~ RACE[racy] read-write shared: B A

int main() {
    Buffer<int> data(64);
    iota(data);
    shift<<<1, 64>>>(data.device, 5);
    SYNC();
    data.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= data[i] == (i + 5) % 64;
    return finish(right);
}
