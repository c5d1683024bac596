//@ revisions: racy fixed
//@[racy] findings: early-release
// A thread arrives at a cuda::barrier before it stores what the others wait for.
#include <cuda/barrier>
#include "check.h"
#pragma nv_diag_suppress static_var_with_dynamic_init

__global__ void reverse(const int* in, int* out) {
    __shared__ int tile[64];
    __shared__ cuda::barrier<cuda::thread_scope_block> all_wrote;
    int t = threadIdx.x;
    if (t == 0) init(&all_wrote, blockDim.x);
    __syncthreads();
#ifdef FIXED
    tile[t] = in[t];
    auto token = all_wrote.arrive();
#else
    auto token = all_wrote.arrive();
    tile[t] = in[t]; //~ A
#endif
    all_wrote.wait(static_cast<decltype(token)&&>(token));
    out[t] = tile[63 - t]; //~ B
}
//~ RACE[racy] write-read|read-write shared: A B

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
