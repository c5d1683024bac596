//@ revisions: racy fixed
//@[racy] findings: loop-back-edge
//@[racy] fixes: 1
// A reduction in a function template, of which two kernels have instances. The barrier of its loop is missing.
#include "check.h"

template <class T> __device__ __forceinline__ T sum_of_block(T value, T* tile) {
    int t = threadIdx.x;
    tile[t] = value;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s) {
            tile[t] += tile[t + s]; //~ A
        }
#ifdef FIXED
        __syncthreads();
#endif
    }
    return t == 0 ? tile[0] : 0;
}

__global__ void add(const int* in, int* out) {
    __shared__ int tile[128];
    int sum = sum_of_block(in[threadIdx.x], tile);
    out[threadIdx.x] = sum;
}

__global__ void add_halves(const int* in, float* out) {
    __shared__ float halves[128];
    float sum = sum_of_block(in[threadIdx.x] / 2.0f, halves);
    out[threadIdx.x] = sum;
}
//~ RACE[racy] write-read shared: A A
//~ RACE?[racy] read-write shared: A A

int main() {
    Buffer<int> in(128), out(128);
    Buffer<float> halves(128);
    iota(in);
    add<<<1, 128>>>(in.device, out.device);
    add_halves<<<1, 128>>>(in.device, halves.device);
    SYNC();
    out.download();
    halves.download();
    return finish(out[0] == 127 * 64 && halves[0] == 127 * 32);
}
