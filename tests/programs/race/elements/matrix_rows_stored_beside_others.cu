//@ revisions: racy transposed fixed
//@ compile-flags: --cuda-gpu-arch=sm_90
//@[racy] findings: same-value
//@[transposed] findings: same-value
// Two warps store four matrices each by `stmatrix`, 32 rows. Those of the second begin behind the first's, or at the last
// of them.
#include <cstdint>
#include "check.h"

#ifdef FIXED
constexpr int rows_of_warp = 32;
#else
constexpr int rows_of_warp = 31;
#endif

__device__ uint32_t pair(int row, int column, int next_row, int next_column) {
    return uint32_t(8 * row + column) | uint32_t(8 * next_row + next_column) << 16;
}

__global__ void store(uint16_t* out) {
    __shared__ __align__(16) uint16_t tile[64 * 8];
    int lane = threadIdx.x % 32, first = threadIdx.x / 32 * rows_of_warp;
    unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&tile[(first + lane) * 8]));
    uint32_t r[4];
    for (int m = 0; m < 4; m++) {
        int row = first + 8 * m;
#ifdef TRANSPOSED
        r[m] = pair(row + lane % 4 * 2, lane / 4, row + lane % 4 * 2 + 1, lane / 4);
#else
        r[m] = pair(row + lane / 4, lane % 4 * 2, row + lane / 4, lane % 4 * 2 + 1);
#endif
    }
#ifdef TRANSPOSED
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1,%2,%3,%4};" //~ T
                 :: "r"(at), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
#else
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" //~ A
                 :: "r"(at), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
#endif
    __syncthreads();
    for (int i = threadIdx.x; i < (32 + rows_of_warp) * 8; i += blockDim.x) out[i] = tile[i];
}
//~ RACE[racy] write-write shared: A A
//~ RACE[transposed] write-write shared: T T

int main() {
    Buffer<uint16_t> out(64 * 8);
    store<<<1, 64>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < (32 + rows_of_warp) * 8; i++) right &= out[i] == i;
    return finish(right);
}
