//@ opt: O1
//@ seeds: 0
//@ compile-flags: -lcublas
// gemm in all types, transpositions and batches. A beta of 0 does not read what is there, and the space between
// columns stays.
#include "blas.h"

cublasHandle_t handle;
bool ok = true;

#define GEMM(T, letter)                                                                                         \
    cublasStatus_t gemm(cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const T* alpha,         \
                        const T* a, int lda, const T* b, int ldb, const T* beta, T* c, int ldc) {               \
        return cublas##letter##gemm(handle, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);              \
    }                                                                                                            \
    cublasStatus_t strided(cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const T* alpha,      \
                           const T* a, int lda, long long sa, const T* b, int ldb, long long sb, const T* beta, \
                           T* c, int ldc, long long sc, int count) {                                             \
        return cublas##letter##gemmStridedBatched(handle, ta, tb, m, n, k, alpha, a, lda, sa, b, ldb, sb, beta,  \
                                                  c, ldc, sc, count);                                            \
    }                                                                                                            \
    cublasStatus_t batched(cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const T* alpha,      \
                           const T* const* a, int lda, const T* const* b, int ldb, const T* beta, T* const* c,  \
                           int ldc, int count) {                                                                 \
        return cublas##letter##gemmBatched(handle, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, count); \
    }
GEMM(float, S)
GEMM(double, D)
GEMM(cuComplex, C)
GEMM(cuDoubleComplex, Z)
GEMM(__half, H)

enum Way { SINGLE, STRIDED, ARRAYS };

template <class T>
void test(cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, Way way, Wide alpha, Wide beta,
          bool on_device) {
    int count = way == SINGLE ? 1 : 3;
    int lda = (ta == CUBLAS_OP_N ? m : k) + 2, ldb = (tb == CUBLAS_OP_N ? k : n) + 1, ldc = m + 3;
    int sa = lda * (ta == CUBLAS_OP_N ? k : m) + 5, sb = ldb * (tb == CUBLAS_OP_N ? n : k), sc = ldc * n + 4;
    Elements<T> a(sa * count + 1, 1), b(sb * count + 1, 2), before(sc * count, 3), c(sc * count, 3, beta != 0.0);
    T scalars[] = {narrow<T>(alpha), narrow<T>(beta)}, *alphas = scalars;
    Buffer<T> device(2);
    device[0] = scalars[0], device[1] = scalars[1];
    device.upload();
    if (on_device) alphas = device.device;
    CUDA(cublasSetPointerMode(handle, on_device ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST));
    if (way == SINGLE) {
        CUDA(gemm(ta, tb, m, n, k, alphas, a.device, lda, b.device, ldb, alphas + 1, c.device, ldc));
    } else if (way == STRIDED) {
        CUDA(strided(ta, tb, m, n, k, alphas, a.device, lda, sa, b.device, ldb, sb, alphas + 1, c.device, ldc, sc,
                     count));
    } else {
        Buffer<T*> as(count), bs(count), cs(count);
        for (int i = 0; i < count; i++)
            as[i] = a.device + i * sa, bs[i] = b.device + i * sb, cs[i] = c.device + i * sc;
        as.upload(), bs.upload(), cs.upload();
        CUDA(batched(ta, tb, m, n, k, alphas, as.device, lda, bs.device, ldb, alphas + 1, cs.device, ldc, count));
        SYNC();
    }
    CUDA(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
    c.download();
    for (int s = 0; s < count; s++)
        for (int j = 0; j < n; j++)
            for (int i = 0; i < ldc; i++) {
                size_t at = size_t(s) * sc + size_t(j) * ldc + i;
                if (i >= m) {
                    if (beta != 0.0) ok &= near(c.at(at), before.at(at));
                    else ok &= std::isnan(c.at(at).real());
                    continue;
                }
                Wide sum = 0;
                for (int l = 0; l < k; l++)
                    sum += element(a, lda, ta, i, l, size_t(s) * sa) * element(b, ldb, tb, l, j, size_t(s) * sb);
                Wide wanted = alpha * sum + (beta != 0.0 ? beta * before.at(at) : 0.0);
                ok &= near(c.at(at), wanted, sizeof(T) == 2 ? 2e-3 : 1e-4);
            }
}

template <class T>
void all() {
    Wide half = is_complex<T> ? Wide(0.5, 2) : Wide(0.5);
    for (auto ta : OPERATIONS)
        for (auto tb : OPERATIONS) {
            test<T>(ta, tb, 5, 7, 3, SINGLE, 1.0, 0.0, false);
            test<T>(ta, tb, 33, 18, 40, SINGLE, half, 2.0, false);
            test<T>(ta, tb, 4, 6, 9, STRIDED, half, -1.0, true);
            test<T>(ta, tb, 4, 3, 5, ARRAYS, half, 0.0, true);
        }
    test<T>(CUBLAS_OP_N, CUBLAS_OP_N, 4, 3, 0, SINGLE, 1.0, 2.0, false);
    test<T>(CUBLAS_OP_N, CUBLAS_OP_N, 4, 3, 5, SINGLE, 0.0, 2.0, false);
    test<T>(CUBLAS_OP_N, CUBLAS_OP_N, 4, 3, 5, SINGLE, 0.0, 0.0, true);
    test<T>(CUBLAS_OP_N, CUBLAS_OP_T, 1, 1, 1, SINGLE, 1.0, 1.0, false);
}

void arguments() {
    Elements<float> a(64), b(64), c(64);
    float one = 1, zero = 0;
    auto sgemm = [&](int m, int n, int k, int lda, int ldb, int ldc, const float* alpha) {
        return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, alpha, a.device, lda, b.device, ldb, &zero,
                           c.device, ldc);
    };
    ok &= sgemm(-1, 2, 2, 4, 4, 4, &one) == CUBLAS_STATUS_INVALID_VALUE;
    ok &= sgemm(4, 2, 2, 3, 4, 4, &one) == CUBLAS_STATUS_INVALID_VALUE;
    ok &= sgemm(4, 2, 2, 4, 1, 4, &one) == CUBLAS_STATUS_INVALID_VALUE;
    ok &= sgemm(4, 2, 2, 4, 4, 3, &one) == CUBLAS_STATUS_INVALID_VALUE;
    ok &= sgemm(4, 2, 2, 4, 4, 4, nullptr) == CUBLAS_STATUS_INVALID_VALUE;
    ok &= sgemm(0, 2, 2, 4, 4, 4, &one) == CUBLAS_STATUS_SUCCESS;
    ok &= cublasSgemm(nullptr, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a.device, 1, b.device, 1, &zero, c.device,
                      1) == CUBLAS_STATUS_NOT_INITIALIZED;
    ok &= cublasSgemm_64(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a.device, int64_t(2), b.device, 2, &zero,
                         c.device, 2) == CUBLAS_STATUS_SUCCESS;
}

// alpha * op(a) + beta * op(b), also in place.
void sums() {
    int m = 5, n = 4;
    for (auto ta : OPERATIONS)
        for (auto tb : OPERATIONS) {
            int lda = (ta == CUBLAS_OP_N ? m : n) + 1, ldb = (tb == CUBLAS_OP_N ? m : n) + 2;
            Elements<cuComplex> a(lda * 6, 1), b(ldb * 6, 2), c(m * n, 0, false);
            cuComplex alpha = {2, 1}, beta = {0, 3};
            CUDA(cublasCgeam(handle, ta, tb, m, n, &alpha, a.device, lda, &beta, b.device, ldb, c.device, m));
            c.download();
            for (int j = 0; j < n; j++)
                for (int i = 0; i < m; i++)
                    ok &= near(c.at(i + j * m), wide(alpha) * element(a, lda, ta, i, j) + wide(beta) * element(b, ldb, tb, i, j));
        }
    Elements<float> a(m * n, 1), none(m * n, 0, false);
    float two = 2, zero = 0;
    CUDA(cublasSgeam(handle, CUBLAS_OP_N, CUBLAS_OP_T, m, n, &two, a.device, m, &zero, none.device, n, a.device, m));
    Elements<float> given(m * n, 1);
    a.download();
    for (int i = 0; i < m * n; i++) ok &= near(a.at(i), 2.0 * given.at(i));
    ok &= cublasSgeam(handle, CUBLAS_OP_T, CUBLAS_OP_N, n, n, &two, a.device, n, &zero, none.device, n, a.device,
                      n) == CUBLAS_STATUS_INVALID_VALUE;
}

int main() {
    CUDA(cublasCreate(&handle));
    all<float>();
    all<double>();
    all<cuComplex>();
    all<cuDoubleComplex>();
    all<__half>();
    arguments();
    sums();
    CUDA(cublasDestroy(handle));
    ok &= cublasDestroy(handle) == CUBLAS_STATUS_NOT_INITIALIZED;
    return finish(ok);
}
