// Threads that have ended do not count at a barrier, nor at a warp sync of the rest.
#include "check.h"

__global__ void sum(const int* in, int* out, int n) {
    __shared__ int tile[128];
    int t = threadIdx.x;
    if (t >= n) return;
    tile[t] = in[t];
    __syncthreads();
    if (t == 0) {
        int total = 0;
        for (int i = 0; i < n; i++) total += tile[i];
        *out = total;
    }
}

int main() {
    Buffer<int> in(128), out(1);
    iota(in);
    bool right = true;
    for (int n : {1, 31, 32, 33, 100, 128}) {
        sum<<<1, 128>>>(in.device, out.device, n);
        SYNC();
        out.download();
        right &= out[0] == n * (n - 1) / 2;
    }
    return finish(right);
}
