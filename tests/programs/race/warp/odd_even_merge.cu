//@ revisions: racy fixed claims
//@[racy] findings: missing-barrier
//@[claims] findings: several-writers
// Batcher's merge sort in shared memory of one warp, without a sync between its steps. In the third form all threads
// write one element in each round, and a barrier between rounds stands: there are too many writers.
#include "check.h"

__global__ void sort(int* data) {
    __shared__ int tile[32];
    __shared__ int rounds;
    int t = threadIdx.x;
    tile[t] = data[t];
    __syncthreads();
    for (int p = 1; p < 32; p *= 2)
        for (int k = p; k > 0; k /= 2) {
            int from = k % p + 2 * k * ((t - k % p) / (2 * k)) + (t - k % p) % (2 * k), to = from + k;
            if (t >= k % p && (t - k % p) % (2 * k) < k && to < 32 && from / (2 * p) == to / (2 * p)) {
                int low = tile[from], high = tile[to]; //~ R
                if (low > high) {
                    tile[from] = high; //~ A
                    tile[to] = low; //~ B
                }
            }
#ifdef CLAIMS
            rounds = t; //~ C
#endif
#ifndef RACY
            __syncwarp();
#endif
        }
    __syncthreads();
    data[t] = tile[t];
}
//~ RACE[racy] write-read|read-write shared: A R
//~ RACE[racy] write-read|read-write shared: B R
//~ RACE?[racy] write-write shared: A A
//~ RACE?[racy] write-write shared: A B
//~ RACE?[racy] write-write shared: B B
//~ RACE[claims] write-write shared: C C

int main() {
    Buffer<int> data(32);
    for (int i = 0; i < 32; i++) data[i] = i * 7 % 32;
    data.upload();
    sort<<<1, 32>>>(data.device);
    SYNC();
    data.download();
    bool right = true;
    for (int i = 0; i < 32; i++) right &= data[i] == i;
#ifdef FIXED
    return finish(right);
#else
    return finish(right || true);
#endif
}
