//@ revisions: racy fixed
//@[racy] findings: missing-atomic missing-atomic
// An atomic addition or maximum that the program makes of compare-and-swaps. Its first read has to be atomic, too.
#include "check.h"

__device__ int first(int* at) {
#ifdef FIXED
    return atomicAdd(at, 0);
#else
    return *at; //~ READ
#endif
}

__global__ void sum(const int* in, int* out) {
    float value = (float)in[blockIdx.x * blockDim.x + threadIdx.x];
    int old = first(out), assumed;
    do {
        assumed = old;
        old = atomicCAS(out, assumed, __float_as_int(value + __int_as_float(assumed))); //~ ADD
    } while (assumed != old);
}
//~ RACE[racy] read-atomic|atomic-read global: READ ADD

__global__ void maximum(const int* in, int* out) {
    __shared__ int best;
    if (threadIdx.x == 0) best = 0;
    __syncthreads();
    int value = in[threadIdx.x], old = first(&best);
    while (old < value) {
        int assumed = old;
        old = atomicCAS(&best, assumed, value); //~ LARGEST
        if (old == assumed) break;
    }
    __syncthreads();
    out[threadIdx.x] = best;
}
//~ RACE[racy] read-atomic|atomic-read shared: READ LARGEST

int main() {
    Buffer<int> in(256), out(256), total(1);
    iota(in);
    sum<<<4, 64>>>(in.device, total.device);
    maximum<<<1, 256>>>(in.device, out.device);
    SYNC();
    out.download();
    total.download();
    float found;
    memcpy(&found, &total[0], sizeof found);
    return finish(found == 255 * 128 && out[7] == 255);
}
