//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// The accesses are in functions that are always inlined: their own lines count.
#include "check.h"

__device__ __forceinline__ void put(int* tile, int i, int value) {
    tile[i] = value; //~ A
}

__device__ __forceinline__ int get(const int* tile, int i) {
    return tile[i]; //~ B
}

__global__ void rotate(int* out) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    put(tile, t, 3 * t);
#ifdef FIXED
    __syncthreads();
#endif
    out[t] = get(tile, (t + 1) % 64);
}
//~ RACE[racy] write-read shared: A B

int main() {
    Buffer<int> out(64);
    rotate<<<1, 64>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == 3 * ((i + 1) % 64);
    return finish(right);
}
