//@ revisions: racy fixed
//@[racy] findings: missing-barrier
//@[racy] fixes: 0
// A barrier is missing in a function. It cannot stand there, since in another kernel some threads alone call the function.
#include "check.h"

__device__ __forceinline__ int shifted(int* tile, int value) {
    int t = threadIdx.x;
    tile[t] = value; //~ A
    return tile[(t + 1) % blockDim.x]; //~ B
}

__global__ void shift(const int* in, int* out) {
    __shared__ int tile[128];
#ifdef FIXED
    tile[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = tile[(threadIdx.x + 1) % 128];
#else
    out[threadIdx.x] = shifted(tile, in[threadIdx.x]);
#endif
}

__global__ void shift_one(const int* in, int* out) {
    __shared__ int tile[64];
    if (threadIdx.x == 63) out[0] = shifted(tile, in[0]) - in[0];
}
//~ RACE[racy] write-read shared: A B

int main() {
    Buffer<int> in(128), out(128);
    iota(in);
    shift<<<1, 128>>>(in.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 128; i++) right &= out[i] == (i + 1) % 128;
    return finish(right);
}
