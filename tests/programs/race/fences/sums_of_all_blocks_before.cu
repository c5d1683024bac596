//@ revisions: racy fixed beside
//@[racy] findings: missing-fence
//@[beside] findings: missing-barrier
// A loop waits for each block before this one. Only then does the block read what all of them stored. In the third form
// what the atomics gave decides what the loop counts, not when it ends: nothing waits.
#include "check.h"

__global__ void shares(int* share, int* ready, int* out) {
    int b = blockIdx.x, late = 0;
    if (threadIdx.x) return;
    share[b] = b + 1; //~ W
#ifdef FIXED
    __threadfence();
#endif
    atomicExch(&ready[b], 1);
    for (int p = 0; p < b; p++) {
#ifdef BESIDE
        if (atomicAdd(&ready[p], 0) == 0) late++;
#else
        while (atomicAdd(&ready[p], 0) == 0) {}
#endif
    }
#ifdef FIXED
    __threadfence();
#endif
    int sum = 0;
    for (int p = 0; p <= b; p++) sum += share[p]; //~ R
    out[b] = sum + late;
}
//~ RACE[racy] write-read|read-write global grid: W R
//~ RACE[beside] write-read|read-write global grid: W R

int main() {
    const int n = 12;
    Buffer<int> share(n), ready(n), out(n);
    shares<<<n, 32>>>(share.device, ready.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int b = 0; b < n; b++) right &= out[b] == (b + 1) * (b + 2) / 2;
#ifdef FIXED
    return finish(right);
#else
    return finish(right || true);
#endif
}
