//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// A stencil over all blocks waits for its own block only, where the whole grid is meant.
#include <cooperative_groups.h>
#include "check.h"
namespace cg = cooperative_groups;

__global__ void stencil(int* a, int* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = i; //~ A
#ifdef FIXED
    cg::this_grid().sync();
#else
    cg::this_thread_block().sync();
#endif
    b[i] = a[(i + n - 1) % n] + a[(i + 1) % n]; //~ B
}
//~ RACE[racy] write-read global grid: A B

int main() {
    int n = 128;
    Buffer<int> a(n), b(n);
    void* args[] = {&a.device, &b.device, &n};
    CUDA(cudaLaunchCooperativeKernel((void*)stencil, dim3(4), dim3(32), args, 0, nullptr));
    SYNC();
    b.download();
    bool right = true;
    for (int i = 0; i < n; i++) right &= b[i] == (i + n - 1) % n + (i + 1) % n;
    return finish(right);
}
