//@ revisions: racy fixed
//@[racy] findings: missing-atomic
// A histogram of 64 bins: each thread counts in bytes of its own, which lie so that neighbouring threads use
// different banks; then each of the first threads adds up one bin. The racy form shares a thread's bytes.
#include "check.h"

const int BINS = 64, THREADS = 64;

__global__ void count(const unsigned char* data, int* partial, int n) {
    __shared__ unsigned char own[BINS * THREADS];
    int t = threadIdx.x;
    // Threads of 16 banks, four bytes each: a permutation of the threads.
    int place = (t & ~63) | ((t & 15) << 2) | ((t & 48) >> 4);
#ifdef RACY
    place &= ~1;
#endif
    for (int bin = 0; bin < BINS; bin++) own[t + bin * THREADS] = 0;
    __syncthreads();
    for (int i = blockIdx.x * THREADS + t; i < n; i += gridDim.x * THREADS) own[place + (data[i] >> 2) * THREADS]++; //~ A
    __syncthreads();
    int sum = 0;
    for (int k = 0; k < THREADS; k++) sum += own[t * THREADS + (k + t) % THREADS];
    partial[blockIdx.x * BINS + t] = sum;
}
//~ RACE[racy] write-read|write-write shared: A A

int main() {
    const int n = 2048, blocks = 4;
    Buffer<unsigned char> data(n);
    Buffer<int> partial(blocks * BINS);
    for (int i = 0; i < n; i++) data[i] = i % 16 * 16 + i / 64 % 16;
    data.upload();
    count<<<blocks, THREADS>>>(data.device, partial.device, n);
    SYNC();
    partial.download();
    int want[BINS] = {};
    for (int i = 0; i < n; i++) want[data[i] >> 2]++;
    bool right = true;
    for (int bin = 0; bin < BINS; bin++) {
        int sum = 0;
        for (int b = 0; b < blocks; b++) sum += partial[b * BINS + bin];
        right &= sum == want[bin];
    }
    return finish(right);
}
