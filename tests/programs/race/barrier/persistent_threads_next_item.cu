//@ revisions: racy fixed
//@[racy] findings: loop-back-edge
// Blocks that stay take their next item from a counter: thread 0 asks, a barrier tells the
// others, and another one must stand before thread 0 asks again.
#include "check.h"

__global__ void work(int* next, int* done, int n) {
    __shared__ int item;
    for (;;) {
        if (threadIdx.x == 0) item = atomicAdd(next, 1); //~ A
        __syncthreads();
        int own = item; //~ B
#ifdef FIXED
        __syncthreads();
#endif
        if (own >= n) return;
        atomicAdd(&done[own], threadIdx.x);
    }
}
//~ RACE[racy] read-write|write-read shared: B A

int main() {
    const int n = 20;
    Buffer<int> next(1), done(n);
    work<<<2, 64>>>(next.device, done.device, n);
#ifdef RACY
    // Threads that disagree about the item may wait for ever: whatever comes is legal.
    cudaDeviceSynchronize();
    return 0;
#endif
    SYNC();
    done.download();
    bool right = true;
    for (int i = 0; i < n; i++) right &= done[i] == 63 * 32;
    return finish(right);
}
