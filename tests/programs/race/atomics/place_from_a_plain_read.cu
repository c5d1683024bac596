//@ revisions: racy best together fixed
//@[racy] findings: missing-atomic
//@[best] findings: missing-atomic
//@[together] findings: missing-barrier
// A place, or the best value so far, is looked up by a plain read, and an atomic changes it later. A barrier would let all
// threads take one place. In the third form the blocks of a cooperative launch look before all of them count: there a
// barrier of the grid is missing.
#include <cooperative_groups.h>
#include "check.h"

__global__ void collect(const int* in, int* out, int* count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#if defined(TOGETHER)
    out[i] = in[i] + *count; //~ L
    cooperative_groups::this_grid().sync();
    out[i] += *count; //~ R
    atomicAdd(count, 1); //~ A
#elif defined(BEST)
    if (in[i] > *count) atomicMax(count, in[i]); //~ M
    out[i] = in[i];
#elif defined(RACY)
    int at = *count; //~ P
    out[at] = in[i]; //~ W
    atomicAdd(count, 1); //~ B
#else
    out[atomicAdd(count, 1)] = in[i];
#endif
}
//~ RACE[racy] read-atomic|atomic-read global: P B
//~ RACE?[racy] write-write global: W W
//~ RACE[best] read-atomic|atomic-read global: M M
//~ RACE[together] read-atomic|atomic-read global: R A

int main() {
    const int n = 256;
    Buffer<int> in(n), out(n), count(1);
    iota(in);
    void* args[] = {&in.device, &out.device, &count.device};
    cudaLaunchCooperativeKernel((void*)collect, dim3(4), dim3(n / 4), args, 0, 0);
    SYNC();
    out.download();
    count.download();
#ifdef FIXED
    int sum = 0;
    for (int i = 0; i < n; i++) sum += out[i];
    return finish(sum == n * (n - 1) / 2 && count[0] == n);
#else
    return 0;
#endif
}
