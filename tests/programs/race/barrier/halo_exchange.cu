//@ revisions: racy fixed
//@[racy] findings: loop-back-edge
// Blocks keep their part in shared memory and publish its edges for their neighbours.
// The next step's edges go to the other half of the buffer; with one half, a fast
// block overwrites the edge that its neighbour still reads.
#include <cooperative_groups.h>
#include "check.h"
namespace cg = cooperative_groups;

__global__ void diffuse(int* edges, int* out, int steps) {
    __shared__ int part[34];
    cg::grid_group grid = cg::this_grid();
    int t = threadIdx.x, b = blockIdx.x, n = gridDim.x;
    part[t + 1] = b * 32 + t;
    __syncthreads();
    for (int k = 0; k < steps; k++) {
#ifdef FIXED
        int* now = edges + k % 2 * 2 * n;
#else
        int* now = edges;
#endif
        if (t == 0) now[2 * b] = part[1]; //~ A
        if (t == 31) now[2 * b + 1] = part[32]; //~ B
        grid.sync();
        if (t == 0) part[0] = now[2 * ((b + n - 1) % n) + 1]; //~ C
        if (t == 31) part[33] = now[2 * ((b + 1) % n)]; //~ D
        __syncthreads();
        int next = part[t] + part[t + 2];
        __syncthreads();
        part[t + 1] = next;
    }
    out[b * 32 + t] = part[t + 1];
}
//~ RACE[racy] read-write global grid: C B
//~ RACE[racy] read-write global grid: D A

int main() {
    const int n = 4 * 32;
    int steps = 3;
    Buffer<int> edges(16), out(n);
    void* args[] = {&edges.device, &out.device, &steps};
    CUDA(cudaLaunchCooperativeKernel((void*)diffuse, dim3(4), dim3(32), args, 0, nullptr));
    SYNC();
    out.download();
    int now[n], next[n];
    for (int i = 0; i < n; i++) now[i] = i;
    for (int k = 0; k < steps; k++) {
        for (int i = 0; i < n; i++) next[i] = now[(i + n - 1) % n] + now[(i + 1) % n];
        memcpy(now, next, sizeof now);
    }
    bool right = true;
    for (int i = 0; i < n; i++) right &= out[i] == now[i];
    return finish(right);
}
