//@ revisions: racy fixed
//@[racy] findings: missing-barrier missing-barrier
//@[racy] wrong-finding: the second one follows from the first
// Threads use a cuda::barrier that another thread is still making.
#include <cuda/barrier>
#include "check.h"
#pragma nv_diag_suppress static_var_with_dynamic_init

__global__ void reverse(const int* in, int* out) {
    __shared__ int tile[64];
    __shared__ cuda::barrier<cuda::thread_scope_block> all_wrote;
    int t = threadIdx.x;
    if (t == 0) init(&all_wrote, blockDim.x); //~ I
#ifdef FIXED
    __syncthreads();
#endif
    tile[t] = in[t]; //~ A
    all_wrote.arrive_and_wait(); //~ W
    out[t] = tile[63 - t]; //~ B
}
//~ RACE[racy] write-atomic|atomic-write shared: I W
//~ RACE?[racy] write-read|read-write shared: A B

int main() {
    Buffer<int> in(64), out(64);
    iota(in);
    reverse<<<1, 64>>>(in.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == 63 - i;
    return finish(right);
}
