//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// Two warps of a block: one stores a matrix to shared memory by a fragment, the other loads it. `wmma` itself orders no
// memory, not even among the lanes of its warp.
#include <mma.h>
#include "check.h"
using namespace nvcuda;

__global__ void chain(const half* in, float* out) {
    __shared__ half tile[256];
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, half> product;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::load_matrix_sync(a, in, 16);
    wmma::load_matrix_sync(b, in, 16);
    if (threadIdx.x < 32) {
        wmma::fill_fragment(product, half(0.0f));
        wmma::mma_sync(product, a, b, product);
        wmma::store_matrix_sync(tile, product, 16, wmma::mem_row_major); //~ A
    }
#ifdef FIXED
    __syncthreads();
#endif
    if (threadIdx.x >= 32) {
        wmma::fill_fragment(sum, 0.0f);
        wmma::load_matrix_sync(a, tile, 16); //~ B
        wmma::mma_sync(sum, a, b, sum);
        wmma::store_matrix_sync(out, sum, 16, wmma::mem_row_major);
    }
}
//~ RACE[racy] write-read|read-write shared: A B

int main() {
    Buffer<half> in(256);
    Buffer<float> out(256);
    for (int i = 0; i < 256; i++) in[i] = half(float(i % 16 == i / 16));
    in.upload();
    chain<<<1, 64>>>(in.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 256; i++) right &= out[i] == float(i % 16 == i / 16);
    return finish(right);
}
