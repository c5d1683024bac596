//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// The steps of a reduction are written out, and each one lacks a barrier. A run may only show what races with the first
// step, because a thread's first write stands for its later ones. The fix has all barriers nevertheless.
#include "check.h"

#ifdef FIXED
#define BARRIER __syncthreads()
#else
#define BARRIER
#endif

__global__ void sum(const int* in, int* out) {
    __shared__ int part[256];
    int t = threadIdx.x;
    part[t] = in[t];
    __syncthreads();
    if (t < 128) part[t] += part[t + 128]; //~ FIRST
    BARRIER;
    if (t < 64) part[t] += part[t + 64]; //~ SECOND
    BARRIER;
    if (t < 32) part[t] += part[t + 32]; //~ THIRD
    BARRIER;
    if (t == 0) {
        int all = 0;
        for (int i = 0; i < 32; i++) {
            all += part[i]; //~ LAST
        }
        *out = all;
    }
}

//~ RACE[racy] write-read shared: FIRST SECOND
//~ RACE?[racy] write-read shared: FIRST THIRD
//~ RACE?[racy] write-read shared: FIRST LAST
//~ RACE?[racy] write-read shared: SECOND THIRD
//~ RACE?[racy] write-read shared: SECOND LAST
//~ RACE?[racy] write-read shared: THIRD LAST

int main() {
    Buffer<int> in(256), out(1);
    for (int i = 0; i < 256; i++) in[i] = 1;
    in.upload();
    sum<<<1, 256>>>(in.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 256);
}
