//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// Each warp counts into a private histogram, and then all are added up: after a barrier.
#include "check.h"

__global__ void histogram(const unsigned char* in, int* bins, int n) {
    __shared__ int own[4][16];
    int t = threadIdx.x, warp = t / 32;
    if (t < 64) own[t / 16][t % 16] = 0;
    __syncthreads();
    for (int i = t; i < n; i += blockDim.x) atomicAdd(&own[warp][in[i] % 16], 1); //~ A
#ifdef FIXED
    __syncthreads();
#endif
    if (t < 16) {
        int sum = 0;
        for (int w = 0; w < 4; w++) sum += own[w][t]; //~ B
        bins[t] = sum;
    }
}
//~ RACE[racy] atomic-read shared: A B

int main() {
    const int n = 512;
    Buffer<unsigned char> in(n);
    Buffer<int> bins(16);
    for (int i = 0; i < n; i++) in[i] = i * i;
    in.upload();
    histogram<<<1, 128>>>(in.device, bins.device, n);
    SYNC();
    bins.download();
    int want[16] = {};
    for (int i = 0; i < n; i++) want[i * i % 256 % 16]++;
    return finish(memcmp(bins.host, want, sizeof want) == 0);
}
