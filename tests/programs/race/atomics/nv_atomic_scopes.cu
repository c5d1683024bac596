//@ revisions: racy fixed
//@[racy] findings: narrow-scope
// Blocks take numbers by nvcc's atomic functions. A scope of one block is too narrow for two.
#include "check.h"

#ifdef RACY
#define SCOPE __NV_THREAD_SCOPE_BLOCK
#else
#define SCOPE __NV_THREAD_SCOPE_DEVICE
#endif

__global__ void take(int* next, int* out) {
    if (threadIdx.x == 0) out[blockIdx.x] = __nv_atomic_fetch_add(next, 1, __NV_ATOMIC_RELAXED, SCOPE); //~ A
}
//~ RACE[racy] atomic-atomic global grid: A A

int main() {
    Buffer<int> next(1), out(4);
    take<<<4, 32>>>(next.device, out.device);
    SYNC();
    next.download();
    return finish(next[0] == 4);
}
