//@ revisions: racy fixed
//@[racy] findings: missing-atomic
// Bins in shared memory, counted by a plain increment.
#include "check.h"

__global__ void histogram(const int* in, int* out) {
    __shared__ int bins[8];
    int t = threadIdx.x;
    if (t < 8) bins[t] = 0;
    __syncthreads();
#ifdef FIXED
    atomicAdd(&bins[in[t] % 8], 1);
#else
    bins[in[t] % 8] += 1; //~ A
#endif
    __syncthreads();
    if (t < 8) out[t] = bins[t];
}
//~ RACE[racy] write-read|write-write shared: A A

int main() {
    Buffer<int> in(128), out(8);
    for (int i = 0; i < 128; i++) in[i] = i * i;
    in.upload();
    histogram<<<1, 128>>>(in.device, out.device);
    SYNC();
    out.download();
    // Squares are 0, 1 or 4 modulo 8.
    return finish(out[0] == 32 && out[1] == 64 && out[4] == 32);
}
