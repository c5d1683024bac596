//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// To arrive at a cuda::barrier orders nothing: the thread has to wait, too.
#include <cuda/barrier>
#include "check.h"
#pragma nv_diag_suppress static_var_with_dynamic_init

__global__ void reverse(const int* in, int* out) {
    __shared__ int tile[64];
    __shared__ cuda::barrier<cuda::thread_scope_block> all_wrote;
    int t = threadIdx.x;
    if (t == 0) init(&all_wrote, blockDim.x);
    __syncthreads();
    tile[t] = in[t]; //~ A
    auto token = all_wrote.arrive();
#ifdef FIXED
    all_wrote.wait(static_cast<decltype(token)&&>(token));
#endif
    out[t] = tile[63 - t]; //~ B
}
//~ RACE[racy] write-read shared: A B

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
