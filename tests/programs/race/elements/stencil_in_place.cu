//@ revisions: racy fixed
//@[racy] findings: alias
// A stencil that updates its input reads neighbours which other blocks update.
#include "check.h"

__global__ void smooth(int* to, const int* from, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0 || i + 1 >= n) return;
    int sum = from[i - 1] + from[i + 1]; //~ A
    __syncwarp();
    to[i] = sum; //~ B
}
//~ RACE[racy] read-write global grid: A B

int main() {
    // Blocks of one warp, whose `__syncwarp` leaves only the edges between
    // blocks to race.
    Buffer<int> data(96), result(96);
    iota(data);
#ifdef FIXED
    smooth<<<3, 32>>>(result.device, data.device, 96);
#else
    smooth<<<3, 32>>>(data.device, data.device, 96);
#endif
    SYNC();
    result.download();
    bool right = true;
    for (int i = 1; i < 95; i++) right &= result[i] == 2 * i;
    return finish(right);
}
