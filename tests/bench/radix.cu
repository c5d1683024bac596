// One pass of a radix sort over 4 bits: each block sorts its 1024 keys. Where a key goes is read from counts,
// so its store is the one access that no proof covers.
const int THREADS = 256, EACH = 4, DIGITS = 16;

__global__ void radix(const unsigned* keys, unsigned* sorted, int shift) {
    __shared__ int counts[DIGITS][THREADS];
    __shared__ int sums[THREADS];
    int t = threadIdx.x, first = blockIdx.x * THREADS * EACH;
    unsigned own[EACH];
    for (int d = 0; d < DIGITS; d++) counts[d][t] = 0;
    for (int i = 0; i < EACH; i++) {
        own[i] = keys[first + t * EACH + i];
        counts[own[i] >> shift & 15][t]++;
    }
    __syncthreads();
    int* flat = &counts[0][0];
    int sum = 0;
    for (int i = 0; i < DIGITS; i++) sum += flat[t * DIGITS + i];
    sums[t] = sum;
    __syncthreads();
    for (int step = 1; step < THREADS; step <<= 1) {
        int before = t >= step ? sums[t - step] : 0;
        __syncthreads();
        sums[t] += before;
        __syncthreads();
    }
    int at = sums[t] - sum;
    for (int i = 0; i < DIGITS; i++) {
        int count = flat[t * DIGITS + i];
        flat[t * DIGITS + i] = at;
        at += count;
    }
    __syncthreads();
    for (int i = 0; i < EACH; i++) sorted[first + counts[own[i] >> shift & 15][t]++] = own[i];
}
#include "radix.h"
