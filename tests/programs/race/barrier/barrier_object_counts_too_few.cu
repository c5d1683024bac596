//@ revisions: racy fixed
//@[racy] findings: wrong-phase
// Two warps arrive at a barrier object that counts one. Its phase ends when the first one has come, and a fence helps
// nobody.
#include <cuda/barrier>
#include "check.h"
#pragma nv_diag_suppress static_var_with_dynamic_init
using Barrier = cuda::barrier<cuda::thread_scope_block>;

#ifdef RACY
constexpr int arrivals = 32;
#else
constexpr int arrivals = 64;
#endif

__global__ void rounds(const int* in, int* out, int count) {
    __shared__ int tile[64];
    __shared__ Barrier full, empty;
    int t = threadIdx.x, sum = 0;
    if (t == 0) {
        init(&full, arrivals);
        init(&empty, 64);
    }
    __syncthreads();
    for (int k = 0; k < count; k++) {
        tile[t] = in[k * 64 + t]; //~ A
        full.arrive_and_wait();
        sum += tile[63 - t]; //~ B
        empty.arrive_and_wait();
    }
    out[t] = sum;
}
//~ RACE[racy] write-read|read-write shared: A B

int main() {
    Buffer<int> in(64 * 4), out(64);
    rounds<<<1, 64>>>(in.device, out.device, 4);
    SYNC();
    return finish(true);
}
