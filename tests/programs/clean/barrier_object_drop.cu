// Threads that drop out of a cuda::barrier are not waited for any more.
#include <cuda/barrier>
#include "check.h"

__global__ void halve(int* out) {
    __shared__ int tile[64];
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    int t = threadIdx.x;
    if (t == 0) init(&barrier, blockDim.x);
    tile[t] = t;
    __syncthreads();
    for (int n = 32; n > 0; n /= 2) {
        if (t >= n) {
            barrier.arrive_and_drop();
            return;
        }
        int sum = tile[t] + tile[t + n];
        barrier.arrive_and_wait();
        tile[t] = sum;
        barrier.arrive_and_wait();
    }
    *out = tile[0];
}

int main() {
    Buffer<int> out(1);
    halve<<<1, 64>>>(out.device);
    SYNC();
    out.download();
    return finish(out[0] == 64 * 63 / 2);
}
