// A block of 1,024 threads, each with a frame of its own, in a reduction with barriers.
#include "check.h"

__device__ __noinline__ int weigh(int t) {
    int digits[12], sum = 0;
    for (int i = 0; i < 12; i++, t /= 2) digits[i] = t % 2;
    for (int i = 0; i < 12; i++) sum += digits[11 - i];
    return sum;
}

__global__ void total(int* out) {
    __shared__ int tile[1024];
    int t = threadIdx.x;
    tile[t] = weigh(t);
    __syncthreads();
    for (int s = 512; s > 0; s /= 2) {
        if (t < s) tile[t] += tile[t + s];
        __syncthreads();
    }
    if (t == 0) *out = tile[0];
}

int main() {
    Buffer<int> out(1);
    total<<<1, 1024>>>(out.device);
    SYNC();
    out.download();
    return finish(out[0] == 5120);
}
