// Counting, and-ing and or-ing barriers in a block whose last warp is not full.
#include "check.h"

__global__ void reduce(int* out) {
    int t = threadIdx.x + blockDim.x * threadIdx.y;
    out[4 * t] = __syncthreads_count(t % 7 == 0);
    out[4 * t + 1] = __syncthreads_and(t < 90);
    out[4 * t + 2] = __syncthreads_and(t < 89);
    out[4 * t + 3] = __syncthreads_or(t == 89);
}

int main() {
    Buffer<int> out(4 * 90);
    reduce<<<1, dim3(30, 3)>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int t = 0; t < 90; t++)
        right &= out[4 * t] == 13 && out[4 * t + 1] && !out[4 * t + 2] && out[4 * t + 3];
    return finish(right);
}
