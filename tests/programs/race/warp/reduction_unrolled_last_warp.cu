//@ revisions: racy fixed
//@[racy] findings: loop-back-edge
// The classical unrolled tail, `tile[t] += tile[t + 32]` and so on, was written for warps
// in lockstep. Each step needs its reads, a warp sync, its writes and another one.
#include "check.h"

template <int size>
__device__ void tail(int* tile, int t) {
#pragma unroll
    for (int s = size; s > 0; s /= 2) {
#ifdef FIXED
        int other = tile[t + s];
        __syncwarp();
        tile[t] += other;
        __syncwarp();
#else
        tile[t] += tile[t + s]; //~ A
#endif
    }
}

template <int size>
__global__ void reduce(const int* in, int* out) {
    __shared__ int tile[size];
    int t = threadIdx.x;
    tile[t] = in[t] + in[t + size];
    __syncthreads();
    if (size >= 128) {
        if (t < 64) tile[t] += tile[t + 64];
        __syncthreads();
    }
    if (t < 32) tail<32>(tile, t);
    if (t == 0) *out = tile[0];
}
//~ RACE[racy] write-read|read-write shared warp: A A

int main() {
    Buffer<int> in(256), out(1);
    iota(in);
    reduce<128><<<1, 128>>>(in.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 255 * 128);
}
