//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// A Hillis-Steele scan in one buffer needs a barrier after its reads, too.
#include "check.h"

__global__ void scan(int* data) {
    __shared__ int tile[128];
    int t = threadIdx.x;
    tile[t] = data[t];
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        int left = t >= d ? tile[t - d] : 0; //~ A
#ifdef FIXED
        __syncthreads();
#endif
        tile[t] += left; //~ B
        __syncthreads();
    }
    data[t] = tile[t];
}
//~ RACE[racy] read-write shared: A B

int main() {
    Buffer<int> data(128);
    iota(data);
    scan<<<1, 128>>>(data.device);
    SYNC();
    data.download();
    bool right = true;
    for (int i = 0; i < 128; i++) right &= data[i] == i * (i + 1) / 2;
    return finish(right);
}
