//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// Each warp sums by shuffles and leaves its sum in shared memory; the first warp adds
// the sums up. Between the two stands a barrier of the block, not of a warp.
#include "check.h"

__device__ int sum_of_warp(int value) {
    for (int s = 16; s > 0; s /= 2) value += __shfl_down_sync(0xffffffff, value, s);
    return value;
}

__global__ void reduce(const int* in, int* out) {
    __shared__ int sums[32];
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    int sum = sum_of_warp(in[t]);
    if (lane == 0) sums[warp] = sum; //~ A
#ifdef FIXED
    __syncthreads();
#else
    __syncwarp();
#endif
    if (warp == 0) {
        int total = sum_of_warp(lane < blockDim.x / 32 ? sums[lane] : 0); //~ B
        if (lane == 0) *out = total;
    }
}
//~ RACE[racy] write-read shared block: A B

int main() {
    Buffer<int> in(256), out(1);
    iota(in);
    reduce<<<1, 256>>>(in.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 255 * 128);
}
