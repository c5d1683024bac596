//@ revisions: racy fixed
//@[racy] findings: several-writers
//@[racy] stderr-contains: and only one value stays
// The swizzle gives two columns of a row one place, so two threads copy to the same bytes. No wait helps.
#include <cuda_pipeline.h>
#include "check.h"

__device__ int swizzle(int row, int column) {
#ifdef RACY
    return row * 8 + (column ^ row) % 7;
#else
    return row * 8 + (column ^ row);
#endif
}

__global__ void load(const int4* in, int4* out) {
    __shared__ int4 tile[64];
    int row = threadIdx.x / 8, column = threadIdx.x % 8;
    __pipeline_memcpy_async(&tile[swizzle(row, column)], &in[threadIdx.x], sizeof(int4)); //~ A
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    out[threadIdx.x] = tile[swizzle(row, column)];
}
//~ RACE[racy] write-write shared warp: A A

int main() {
    Buffer<int4> in(64), out(64);
    load<<<1, 64>>>(in.device, out.device);
    SYNC();
    return finish(true);
}
