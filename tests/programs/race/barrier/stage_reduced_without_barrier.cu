//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// The stages of a buffer hide no missing barrier: each round stores to one stage and reads it, and nothing parts the two.
#include "check.h"

const int N = 64;

__global__ void turn(int* data, int rounds) {
    __shared__ int tile[2][N];
    int t = threadIdx.x, value = data[t];
    for (int k = 0; k < rounds; k++) {
        tile[k % 2][t] = value; //~ A
#ifdef FIXED
        __syncthreads();
#endif
        value = tile[k % 2][(t + 1) % N]; //~ B
    }
    data[t] = value;
}
//~ RACE[racy] write-read|read-write shared: A B

int main() {
    Buffer<int> data(N);
    iota(data);
    turn<<<1, N>>>(data.device, 4);
    SYNC();
    data.download();
    bool right = true;
    for (int t = 0; t < N; t++) right &= data[t] == (t + 4) % N;
    return finish(right);
}
