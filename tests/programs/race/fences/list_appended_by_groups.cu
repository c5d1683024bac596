//@ revisions: racy fixed
//@[racy] findings: missing-fence
// The lanes of a branch append to a list together; the last block to arrive reads all of it.
#include <cooperative_groups.h>
#include "check.h"
namespace cg = cooperative_groups;
__device__ int list[4096];
__device__ int count, ready;
__global__ void run(const int* in, int n, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && in[i] % 3 == 0) {
        auto g = cg::coalesced_threads();
        int base = 0;
        if (g.thread_rank() == 0) base = atomicAdd(&count, (int)g.size());
        base = g.shfl(base, 0);
        list[base + g.thread_rank()] = in[i]; //~ W
    }
#ifdef FIXED
    __threadfence();
#endif
    __syncthreads();
    if (threadIdx.x == 0) {
#ifdef FIXED
        __threadfence();
#endif
        if (atomicAdd(&ready, 1) == (int)gridDim.x - 1) {
            __threadfence();
            int s = 0, c = atomicAdd(&count, 0);
            for (int k = 0; k < c; k++) s += list[k]; //~ R
            *out = s;
        }
    }
}
//~ RACE[racy] write-read global grid: W R
int main() {
    Buffer<int> in(512), out(1);
    iota(in);
    run<<<4, 128>>>(in.device, 500, out.device);
    SYNC();
    out.download();
    int want = 0;
    for (int i = 0; i < 500; i += 3) want += i;
    return finish(out[0] == want);
}
