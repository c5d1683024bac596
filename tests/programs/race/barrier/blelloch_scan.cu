//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// An exclusive scan by up-sweep and down-sweep in shared memory, a barrier per level. The
// racy form leaves out the one of the second level on the way down.
#include "check.h"

__global__ void scan(int* data, int n) {
    __shared__ int tile[128];
    int t = threadIdx.x;
    tile[2 * t] = data[2 * t];
    tile[2 * t + 1] = data[2 * t + 1];
    int offset = 1;
    for (int d = n / 2; d > 0; d /= 2, offset *= 2) {
        __syncthreads();
        if (t < d) tile[offset * (2 * t + 2) - 1] += tile[offset * (2 * t + 1) - 1];
    }
    if (t == 0) tile[n - 1] = 0;
    for (int d = 1; d < n; d *= 2) {
        offset /= 2;
#ifdef RACY
        if (d != 2)
#endif
            __syncthreads();
        if (t < d) {
            int left = offset * (2 * t + 1) - 1, right = offset * (2 * t + 2) - 1;
            int kept = tile[left];
            tile[left] = tile[right]; //~ B
            tile[right] += kept; //~ C
        }
    }
    __syncthreads();
    data[2 * t] = tile[2 * t];
    data[2 * t + 1] = tile[2 * t + 1];
}
//~ RACE[racy] write-read shared warp: C B
//~ RACE?[racy] write-read|write-write shared warp: C C

int main() {
    Buffer<int> data(128);
    for (int i = 0; i < 128; i++) data[i] = i % 5;
    data.upload();
    scan<<<1, 64>>>(data.device, 128);
    SYNC();
    data.download();
    bool right = true;
    for (int i = 0, sum = 0; i < 128; sum += i % 5, i++) right &= data[i] == sum;
    return finish(right);
}
