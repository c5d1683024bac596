//@ compile-flags: --cuda-gpu-arch=sm_80
// Products of `nvcuda::wmma` fragments against plain loops: halves, bfloat16, TF32, double and bytes, both layouts, the
// shapes that are not square, element-wise work on fragments, and fragments in shared memory.
#include <cmath>
#include <mma.h>
#include "check.h"
using namespace nvcuda;

template <class Fragment, class In, class Acc, int M, int N, int K, class LayoutA, class LayoutB>
__global__ void multiply(const In* a, const In* b, const Acc* c, Acc* d, bool columns) {
    wmma::fragment<wmma::matrix_a, M, N, K, Fragment, LayoutA> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, Fragment, LayoutB> fb;
    wmma::fragment<wmma::accumulator, M, N, K, Acc> sum, old;
    constexpr bool rows_a = std::is_same_v<LayoutA, wmma::row_major>, rows_b = std::is_same_v<LayoutB, wmma::row_major>;
    wmma::load_matrix_sync(fa, a, rows_a ? K : M);
    wmma::load_matrix_sync(fb, b, rows_b ? N : K);
    wmma::load_matrix_sync(old, c, columns ? M : N, columns ? wmma::mem_col_major : wmma::mem_row_major);
    wmma::fill_fragment(sum, Acc(0));
    wmma::mma_sync(sum, fa, fb, sum);
    for (int i = 0; i < sum.num_elements; i++) sum.x[i] = sum.x[i] + Acc(2) * old.x[i];
    wmma::store_matrix_sync(d, sum, N, wmma::mem_row_major);
}

static bool all_right = true;

template <class Fragment, class In, class Acc, int M, int N, int K, class LayoutA, class LayoutB>
static void check(const char* what, bool columns, double tolerance) {
    constexpr bool rows_a = std::is_same_v<LayoutA, wmma::row_major>, rows_b = std::is_same_v<LayoutB, wmma::row_major>;
    Buffer<In> a(M * K), b(K * N);
    Buffer<Acc> c(M * N), d(M * N);
    auto value = [](int i) { return i * 7 % 23 - 11; };
    for (int i = 0; i < M * K; i++) a[i] = In(float(value(i)));
    for (int i = 0; i < K * N; i++) b[i] = In(float(value(i + 5)));
    for (int i = 0; i < M * N; i++) c[i] = Acc(float(value(i + 9)));
    a.upload();
    b.upload();
    c.upload();
    multiply<Fragment, In, Acc, M, N, K, LayoutA, LayoutB><<<1, 32>>>(a.device, b.device, c.device, d.device, columns);
    SYNC();
    d.download();
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            double sum = 2 * double(float(c[columns ? j * M + i : i * N + j]));
            for (int k = 0; k < K; k++) {
                sum += double(float(a[rows_a ? i * K + k : k * M + i])) * double(float(b[rows_b ? k * N + j : j * K + k]));
            }
            double found = double(float(d[i * N + j]));
            if (std::fabs(found - sum) > tolerance && all_right) {
                printf("%s, row %d, column %d: found %g, wanted %g\n", what, i, j, found, sum);
                all_right = false;
            }
        }
    }
}

// A tile in shared memory, one matrix for each warp.
__global__ void in_shared_memory(const half* in, float* out) {
    __shared__ half tile[4][256];
    __shared__ float result[4][256];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int i = lane; i < 256; i += 32) tile[warp][i] = in[warp * 256 + i];
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    wmma::load_matrix_sync(a, tile[warp], 16);
    wmma::load_matrix_sync(b, tile[warp], 16);
    wmma::mma_sync(sum, a, b, sum);
    wmma::store_matrix_sync(result[warp], sum, 16, wmma::mem_col_major);
    __syncwarp();
    for (int i = lane; i < 256; i += 32) out[warp * 256 + i] = result[warp][i];
}

static void check_shared() {
    Buffer<half> in(1024);
    Buffer<float> out(1024);
    for (int i = 0; i < 1024; i++) in[i] = half(float(i * 5 % 17 - 8));
    in.upload();
    in_shared_memory<<<1, 128>>>(in.device, out.device);
    SYNC();
    out.download();
    for (int m = 0; m < 4; m++) {
        for (int i = 0; i < 16; i++) {
            for (int j = 0; j < 16; j++) {
                float sum = 0;
                for (int k = 0; k < 16; k++) sum += float(in[m * 256 + i * 16 + k]) * float(in[m * 256 + j * 16 + k]);
                all_right &= out[m * 256 + j * 16 + i] == sum;
            }
        }
    }
}

int main() {
    using row = wmma::row_major;
    using col = wmma::col_major;
    check<half, half, float, 32, 8, 16, col, row>("half, 32 rows", true, 0);
    check<half, half, half, 8, 32, 16, row, row>("half into half", false, 2);
    check<__nv_bfloat16, __nv_bfloat16, float, 8, 32, 16, col, col>("bfloat16, 8 rows", true, 0);
    check<wmma::precision::tf32, float, float, 16, 16, 8, row, col>("TF32", false, 0);
    check<double, double, double, 8, 8, 4, row, col>("double", true, 0);
    check<signed char, signed char, int, 8, 32, 16, row, row>("signed bytes, 8 rows", true, 0);
    check_shared();
    return finish(all_right);
}
