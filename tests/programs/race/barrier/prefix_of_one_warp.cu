//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// The first warp looks back at the tiles before, tells the tiles behind of its sum, and leaves the prefix in shared
// memory for the second one, which looks at no flag: it needs a barrier, not another place of the release.
#include "check.h"

struct Tile {
    unsigned ready;
    int sum;
};

__device__ unsigned look(unsigned* at) {
    unsigned value;
    asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}

__global__ void scan(Tile* tiles, int* next, int* out) {
    __shared__ int tile, prefix;
    if (threadIdx.x == 0) tile = atomicAdd(next, 1);
    __syncthreads();
    int b = tile;
    if (threadIdx.x == 0) {
        int before = 0;
        if (b > 0) {
            while (look(&tiles[b - 1].ready) == 0) {}
            before = tiles[b - 1].sum;
        }
        tiles[b].sum = before + b;
        __threadfence();
        atomicExch(&tiles[b].ready, 1);
        prefix = before; //~ W
    }
#ifdef FIXED
    __syncthreads();
#endif
    if (threadIdx.x >= 32) out[b * 32 + threadIdx.x - 32] = prefix; //~ R
}
//~ RACE[racy] write-read|read-write shared block: W R

int main() {
    Buffer<Tile> tiles(4);
    Buffer<int> next(1), out(4 * 32);
    scan<<<4, 64>>>(tiles.device, next.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int b = 0; b < 4; b++)
        for (int t = 0; t < 32; t++) right &= out[b * 32 + t] == b * (b - 1) / 2;
    return finish(right);
}
