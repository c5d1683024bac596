//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// In a 4 x 4 x 4 block, thread (x, y, z) and (x, y, z - 1) are 16 threads apart.
#include "check.h"

__global__ void below(int* out) {
    __shared__ int cube[4][4][4];
    int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    cube[z][y][x] = x + 10 * y + 100 * z; //~ A
#ifdef FIXED
    __syncthreads();
#endif
    int value = z > 0 ? cube[z - 1][y][x] : -1; //~ B
    out[(z * 4 + y) * 4 + x] = value;
}
//~ RACE[racy] write-read shared: A B

int main() {
    Buffer<int> out(64);
    below<<<1, dim3(4, 4, 4)>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) {
        int x = i % 4, y = i / 4 % 4, z = i / 16;
        right &= out[i] == (z > 0 ? x + 10 * y + 100 * (z - 1) : -1);
    }
    return finish(right);
}
