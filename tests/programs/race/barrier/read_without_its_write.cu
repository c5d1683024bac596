//@ revisions: barrier warp branch loop element size function twice fixed
//@[barrier] findings: missing-barrier
//@[branch] findings: missing-barrier
//@[element] findings: missing-barrier
//@[function] findings: missing-barrier
//@[loop] findings: missing-barrier
//@[size] findings: alias
//@[twice] findings: missing-barrier
//@[warp] findings: missing-barrier
// A thread reads an element and writes it later, and a neighbour races with the read alone: what stands
// between the two orders it before the write, or the write is of another element, or not made.
#include "check.h"

__device__ __noinline__ void wait() { __syncthreads(); }

__global__ void shift(int* data, short* halves, int n) {
    int t = threadIdx.x, own = 0;
#ifdef SIZE
    // The write covers one half of what was read.
    own = data[t]; //~ RSIZE
    halves[2 * t] = own;
    halves[(2 * t + 3) % (2 * n)] = t; //~ XSIZE
#elif defined BRANCH
    own = data[t]; //~ RBRANCH
    if (t % 2 == 0) data[t] = own + 1;
    if (t % 2 == 0) data[t + 1] = own; //~ XBRANCH
#elif defined ELEMENT
    own = data[t]; //~ RELEMENT
    data[n + t] = own;
    data[n - 1 - t] = t; //~ XELEMENT
#elif defined LOOP
    // The write of the next iteration comes after a barrier.
    for (int k = 0; k < 2; k++) {
        if (k > 0) data[t] = own;
        __syncthreads();
        own = data[t]; //~ RLOOP
        if (k == 0) data[(t + 1) % n] = t; //~ XLOOP
        __syncthreads();
    }
#elif defined TWICE
    // The first read stands for no read after the barrier.
    own = data[t];
    __syncthreads();
    own += data[t]; //~ RTWICE
    data[(t + 1) % n] = t; //~ XTWICE
#else
    own = data[t]; //~ RREST
#ifndef FIXED
    data[(t + 1) % n] = t; //~ XREST
#endif
#ifdef BARRIER
    __syncthreads();
#elif defined WARP
    __syncwarp();
#elif defined FUNCTION
    wait();
#endif
    data[t] = own + 1;
#endif
}
//~ RACE[barrier] read-write global: RREST XREST
//~ RACE[warp] read-write global: RREST XREST
//~ RACE[branch] read-write global: RBRANCH XBRANCH
//~ RACE[loop] read-write global: RLOOP XLOOP
//~ RACE[element] read-write global: RELEMENT XELEMENT
//~ RACE[size] read-write global: RSIZE XSIZE
//~ RACE[function] read-write global: RREST XREST
//~ RACE[twice] read-write global: RTWICE XTWICE

int main() {
    const int n = 32;
    Buffer<int> data(2 * n);
    iota(data);
    shift<<<1, n>>>(data.device, (short*)data.device, n);
    SYNC();
    data.download();
    bool right = true;
#ifdef FIXED
    for (int i = 0; i < n; i++) right &= data[i] == i + 1;
#endif
    return finish(right);
}
