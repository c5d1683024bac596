//@ revisions: all some
//@[some] options: blocks=0-1
// `grid.sync()` orders all blocks of a cooperative launch, also where only some of them are checked.
#include <cooperative_groups.h>
#include "check.h"
namespace cg = cooperative_groups;

__global__ void rotate_blocks(int* a, int* b) {
    cg::grid_group grid = cg::this_grid();
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    for (int k = 0; k < 3; k++) {
        b[i] = a[(i + 32) % n];
        grid.sync();
        a[i] = b[(i + 32) % n];
        grid.sync();
    }
}

int main() {
    Buffer<int> a(128), b(128);
    iota(a);
    void* args[] = {&a.device, &b.device};
    CUDA(cudaLaunchCooperativeKernel((void*)rotate_blocks, dim3(4), dim3(32), args, 0, nullptr));
    SYNC();
    a.download();
    bool right = true;
    for (int i = 0; i < 128; i++) right &= a[i] == (i + 192) % 128;
    return finish(right);
}
