//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// A block-wide sum in a function, called twice: its shared memory is still being read
// by slow warps when the fast ones begin the second sum.
#include "check.h"

__device__ int sum_of_block(int value) {
    __shared__ int sums[4];
    int t = threadIdx.x;
    for (int s = 16; s > 0; s /= 2) value += __shfl_down_sync(0xffffffff, value, s);
    if (t % 32 == 0) sums[t / 32] = value; //~ A
    __syncthreads();
    int total = sums[0] + sums[1] + sums[2] + sums[3]; //~ B
#ifdef FIXED
    __syncthreads();
#endif
    return total;
}

__global__ void normalise(const int* in, int* out) {
    int value = in[threadIdx.x];
    int sum = sum_of_block(value);
    int squares = sum_of_block(value * value);
    out[threadIdx.x] = squares - sum;
}
//~ RACE[racy] read-write shared: B A

int main() {
    Buffer<int> in(128), out(128);
    iota(in);
    normalise<<<1, 128>>>(in.device, out.device);
    SYNC();
    out.download();
    int sum = 0, squares = 0;
    for (int i = 0; i < 128; i++) sum += i, squares += i * i;
    bool right = true;
    for (int i = 0; i < 128; i++) right &= out[i] == squares - sum;
    return finish(right);
}
