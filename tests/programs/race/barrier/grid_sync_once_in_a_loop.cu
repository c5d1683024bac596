//@ revisions: racy fixed
//@[racy] findings: loop-back-edge
// Each step of a stencil computes from one array into another and copies back. The grid meets once in each step; the
// next step may then read what other blocks have not copied yet. Threads of one block race too, in every schedule; a
// barrier of the block would not do.
#include <cooperative_groups.h>

#include "check.h"
namespace cg = cooperative_groups;

__global__ void steps(int* a, int* b, int n, int rounds) {
    cg::grid_group grid = cg::this_grid();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < rounds; k++) {
        b[i] = a[(i + 1) % n] + 1; //~ READ
        grid.sync();
        a[i] = b[i]; //~ WRITE
#ifdef FIXED
        grid.sync();
#endif
    }
}
//~ RACE[racy] write-read|read-write global: READ WRITE

int main() {
    int n = 128, rounds = 3;
    Buffer<int> a(n), b(n);
    iota(a);
    void* args[] = {&a.device, &b.device, &n, &rounds};
    CUDA(cudaLaunchCooperativeKernel((void*)steps, dim3(4), dim3(32), args, 0, nullptr));
    SYNC();
    a.download();
    bool right = true;
    for (int i = 0; i < n; i++) right &= a[i] == (i + rounds) % n + rounds;
    return finish(right);
}
