//@ revisions: storer weak teller barrier_alone lanes reader fixed fixed_lanes
//@[storer] findings: missing-fence
//@[weak] findings: missing-fence
//@[teller] findings: missing-fence
//@[lanes] findings: missing-fence
//@[reader] findings: missing-fence
// Each thread makes a fence after its store, all meet at a barrier, and one of them counts the block. So PyTorch's
// reductions do it. The last block makes fences after its barrier. `__threadfence()` is `fence.sc`, and the read of the
// count shows which of two came first. The storers need a fence, of the device, and one that is `fence.sc`. Lanes may
// meet by `__syncwarp()`.
#include "check.h"

__device__ unsigned int done;
__device__ int partial[8 * 64];

__device__ void fence_of(bool storer) {
#if defined(STORER)
    if (!storer) __threadfence();
#elif defined(WEAK)
    if (storer) asm volatile("fence.acq_rel.gpu;" ::: "memory");
    else __threadfence();
#elif defined(TELLER)
    if (storer) __threadfence_block();
    else __threadfence();
#else
    __threadfence();
#endif
}

__global__ void sum(int* out) {
    __shared__ bool last;
    int t = threadIdx.x, n = blockDim.x;
    partial[blockIdx.x * n + t] = t; //~ A
    fence_of(t > 0);
#if defined(LANES)
    // Not all lanes meet the one that counts.
    if (t < 16) __syncwarp(0xffff);
#elif defined(FIXED_LANES) || defined(READER)
    __syncwarp();
#else
    __syncthreads();
#endif
    if (t == 0) last = atomicAdd(&done, 1) == gridDim.x - 1;
#ifdef READER
    // No barrier, and a fence that is no `fence.sc`.
    if (t > 0 || !last) return;
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
#else
    __syncthreads();
    if (!last) return;
#ifndef BARRIER_ALONE
    __threadfence();
#endif
    if (t > 0) return;
#endif
    int total = 0;
    for (int i = 0; i < gridDim.x * n; i++) total += partial[i]; //~ B
    *out = total;
}
//~ RACE[storer] write-read global grid: A B
//~ RACE[weak] write-read global grid: A B
//~ RACE[teller] write-read global grid: A B
//~ RACE[lanes] write-read global grid: A B
//~ RACE[reader] write-read global grid: A B

int main() {
    Buffer<int> out(1);
#if defined(LANES) || defined(FIXED_LANES) || defined(READER)
    int threads = 32;
#else
    int threads = 64;
#endif
    sum<<<8, threads>>>(out.device);
    SYNC();
    out.download();
    return finish(out[0] == 8 * threads * (threads - 1) / 2);
}
