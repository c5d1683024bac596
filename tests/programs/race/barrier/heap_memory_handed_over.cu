//@ revisions: racy fixed
//@[racy] findings: several-writers
// What a thread has allocated in the kernel another one writes to, without waiting for it. What was freed has no history where it is allocated again.
#include "check.h"

__global__ void hand_over(int* out) {
    __shared__ int* places[64];
    int t = threadIdx.x;
    int* own = static_cast<int*>(malloc(sizeof(int)));
    places[t] = own;
    for (int k = 0; k < 3; k++) {
        // Each has what another one had before.
        int* scratch = static_cast<int*>(malloc(4 * sizeof(int)));
        for (int i = 0; i < 4; i++) scratch[i] = t + k;
        out[t] += scratch[(out[t] + 3) % 4] > 0;
        free(scratch);
    }
    __syncthreads();
    *own = t; //~ A
#ifdef FIXED
    __syncthreads();
#endif
    *places[(t + 32) % 64] = 100 + t; //~ B
    __syncthreads();
    out[t] += *own;
    free(own);
}
//~ RACE[racy] write-write global: A B

int main() {
    Buffer<int> out(64);
    hand_over<<<1, 64>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
#ifdef FIXED
    for (int t = 0; t < 64; t++) right &= out[t] == (t > 0 ? 3 : 2) + 100 + (t + 32) % 64;
#endif
    return finish(right);
}
