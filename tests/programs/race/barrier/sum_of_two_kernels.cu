//@ revisions: racy fixed
//@[racy] findings: missing-barrier
//@[racy] fixes: 1
// Two kernels call one function, in which a barrier is missing: one finding, and the barrier stands in the function.
#include "check.h"

__device__ int sum_of_block(int value) {
    __shared__ int tile[128];
    int t = threadIdx.x;
    tile[t] = value; //~ A
#ifdef FIXED
    __syncthreads();
#endif
    int sum = 0;
    for (int i = 0; i < blockDim.x; i++) sum += tile[i]; //~ B
    __syncthreads();
    return sum;
}

__global__ void add(const int* in, int* out) {
    int sum = sum_of_block(in[threadIdx.x]);
    out[threadIdx.x] = sum;
}

__global__ void add_squares(const int* in, int* out) {
    int value = in[threadIdx.x];
    int sum = sum_of_block(value);
    out[threadIdx.x] += sum_of_block(value * value) - sum;
}
//~ RACE[racy] write-read shared: A B

int main() {
    Buffer<int> in(128), out(128);
    iota(in);
    add<<<1, 128>>>(in.device, out.device);
    add_squares<<<1, 128>>>(in.device, out.device);
    SYNC();
    out.download();
    int squares = 0;
    for (int i = 0; i < 128; i++) squares += i * i;
    bool right = true;
    for (int i = 0; i < 128; i++) right &= out[i] == squares;
    return finish(right);
}
