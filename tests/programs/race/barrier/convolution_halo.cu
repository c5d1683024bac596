//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// A tile with a halo: the first threads load the halo after everybody's own element.
// The barrier stands between the two loads instead of behind both.
#include "check.h"

__global__ void convolve(const int* in, int* out, int n) {
    __shared__ int tile[64 + 4];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    tile[t + 2] = in[i];
#ifdef RACY
    __syncthreads();
#endif
    if (t < 2) {
        tile[t] = in[(i - 2 + n) % n]; //~ A
        tile[t + 66] = in[(i + 64) % n]; //~ B
    }
#ifdef FIXED
    __syncthreads();
#endif
    int sum = 0;
    for (int k = 0; k < 5; k++) sum += tile[t + k]; //~ R
    out[i] = sum;
}
//~ RACE[racy] write-read shared: A R
//~ RACE[racy] write-read shared: B R

int main() {
    const int n = 256;
    Buffer<int> in(n), out(n);
    iota(in);
    convolve<<<n / 64, 64>>>(in.device, out.device, n);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < n; i++) {
        int sum = 0;
        for (int k = -2; k <= 2; k++) sum += (i + k + n) % n;
        right &= out[i] == sum;
    }
    return finish(right);
}
