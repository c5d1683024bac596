//@ opt: O1
//@ seeds: 0
//@ compile-flags: -lcublas
// Level 3 with all sides, triangles and transpositions, and batches of LU factors. The other triangle is not touched.
#include "blas.h"

cublasHandle_t handle;
bool ok = true;

// An element of the matrix that a triangle stands for.
template <class T>
Wide triangle(Elements<T>& a, int lda, cublasFillMode_t part, cublasDiagType_t diagonal, cublasOperation_t op, int i,
              int j) {
    if (op != CUBLAS_OP_N) std::swap(i, j);
    if (i == j && diagonal == CUBLAS_DIAG_UNIT) return 1.0;
    bool inside = part == CUBLAS_FILL_MODE_LOWER ? i >= j : i <= j;
    return inside ? apply(op, a.at(i + size_t(j) * lda)) : 0.0;
}

template <class T>
Wide mirrored(Elements<T>& a, int lda, cublasFillMode_t part, bool hermitian, int i, int j) {
    bool inside = part == CUBLAS_FILL_MODE_LOWER ? i >= j : i <= j;
    if (hermitian && i == j) return a.at(i + size_t(i) * lda).real();
    if (inside) return a.at(i + size_t(j) * lda);
    Wide other = a.at(j + size_t(i) * lda);
    return hermitian ? std::conj(other) : other;
}

// Makes the other triangle no numbers, and the diagonal large.
template <class T>
void keep(Elements<T>& a, int lda, int n, cublasFillMode_t part, bool unit) {
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            bool inside = part == CUBLAS_FILL_MODE_LOWER ? i >= j : i <= j;
            if (!inside || (unit && i == j)) a[i + j * lda] = narrow<T>(NAN);
            else if (i == j) a[i + j * lda] = narrow<T>(Wide(30) + a.at(i + j * lda));
        }
    a.upload();
}

template <class T>
const T complex_scalar = narrow<T>({2, is_complex<T> ? -1.0 : 0.0});

#define TRIANGLES(T, letter)                                                                                          \
    void triangles(cublasSideMode_t side, cublasFillMode_t part, cublasOperation_t op, cublasDiagType_t diagonal, T) { \
        int m = 5, n = 4, order = side == CUBLAS_SIDE_LEFT ? m : n, lda = order + 1, ldb = m + 2;                     \
        T alpha = complex_scalar<T>;                                                                                  \
        Elements<T> a(lda * order, 1), b(ldb * n, 2), c(ldb * n, 0, false), x(ldb * n, 2), y(ldb * n, 2);             \
        keep(a, lda, order, part, diagonal == CUBLAS_DIAG_UNIT);                                                      \
        CUDA(cublas##letter##trmm(handle, side, part, op, diagonal, m, n, &alpha, a.device, lda, b.device, ldb,       \
                                  c.device, ldb));                                                                    \
        CUDA(cublas##letter##trmm(handle, side, part, op, diagonal, m, n, &alpha, a.device, lda, y.device, ldb,       \
                                  y.device, ldb));                                                                    \
        CUDA(cublas##letter##trsm(handle, side, part, op, diagonal, m, n, &alpha, a.device, lda, x.device, ldb));     \
        c.download(), x.download(), y.download();                                                                     \
        for (int j = 0; j < n; j++)                                                                                   \
            for (int i = 0; i < ldb; i++) {                                                                           \
                size_t at = i + size_t(j) * ldb;                                                                      \
                if (i >= m) {                                                                                         \
                    ok &= std::isnan(c.at(at).real()) && x.at(at) == b.at(at) && y.at(at) == b.at(at);                \
                    continue;                                                                                         \
                }                                                                                                     \
                Wide product = 0, back = 0;                                                                           \
                for (int l = 0; l < order; l++) {                                                                     \
                    bool left = side == CUBLAS_SIDE_LEFT;                                                             \
                    Wide t = triangle(a, lda, part, diagonal, op, left ? i : l, left ? l : j);                        \
                    size_t other = left ? l + size_t(j) * ldb : i + size_t(l) * ldb;                                  \
                    product += t * b.at(other), back += t * x.at(other);                                              \
                }                                                                                                     \
                ok &= near(c.at(at), wide(alpha) * product) && near(y.at(at), wide(alpha) * product);                 \
                double size = diagonal == CUBLAS_DIAG_UNIT ? 1e4 : 1;                                                 \
                ok &= near(back / size, wide(alpha) * b.at(at) / size, 1e-3);                                         \
            }                                                                                                         \
    }
TRIANGLES(float, S)
TRIANGLES(double, D)
TRIANGLES(cuComplex, C)
TRIANGLES(cuDoubleComplex, Z)

#define SYMMETRIC(T, symm, hermitian)                                                                               \
    void symmetric_##symm(cublasSideMode_t side, cublasFillMode_t part) {                                           \
        int m = 6, n = 3, order = side == CUBLAS_SIDE_LEFT ? m : n, lda = order + 1, ldb = m + 1;                   \
        T alpha = complex_scalar<T>, beta = narrow<T>(3);                                                           \
        Elements<T> a(lda * order, 1), b(ldb * n, 2), c(ldb * n, 3), given(ldb * n, 3);                             \
        keep(a, lda, order, part, false);                                                                           \
        CUDA(cublas##symm(handle, side, part, m, n, &alpha, a.device, lda, b.device, ldb, &beta, c.device, ldb));   \
        c.download();                                                                                               \
        for (int j = 0; j < n; j++)                                                                                 \
            for (int i = 0; i < m; i++) {                                                                           \
                Wide sum = 0;                                                                                       \
                for (int l = 0; l < order; l++)                                                                     \
                    sum += side == CUBLAS_SIDE_LEFT ? mirrored(a, lda, part, hermitian, i, l) * b.at(l + j * ldb)   \
                                                    : b.at(i + l * ldb) * mirrored(a, lda, part, hermitian, l, j);  \
                ok &= near(c.at(i + j * ldb), wide(alpha) * sum + 3.0 * given.at(i + j * ldb));                     \
            }                                                                                                       \
    }
SYMMETRIC(float, Ssymm, false)
SYMMETRIC(double, Dsymm, false)
SYMMETRIC(cuComplex, Csymm, false)
SYMMETRIC(cuDoubleComplex, Zhemm, true)

// Updates of a triangle by products of a matrix with itself or another.
#define UPDATES(T, R, rk, rkx, r2k, hermitian)                                                                    \
    void updates_##rk(cublasFillMode_t part, cublasOperation_t op, double beta_value) {                           \
        int n = 5, k = 3, lda = (op == CUBLAS_OP_N ? n : k) + 1, ldc = n + 1;                                     \
        R real = 2, beta = R(narrow<float>(beta_value));                                                          \
        T alpha = complex_scalar<T>;                                                                              \
        T betas = narrow<T>(beta_value);                                                                          \
        Elements<T> a(lda * 6, 1), b(lda * 6, 2), given(ldc * n, 3);                                              \
        for (int kind = 0; kind < 3; kind++) {                                                                    \
            Elements<T> c(ldc * n, 3, beta_value != 0);                                                           \
            if (beta_value != 0) keep(c, ldc, n, part, false);                                                    \
            Elements<T> before(ldc * n, 0);                                                                       \
            for (int i = 0; i < ldc * n; i++) before[i] = c[i];                                                   \
            if (kind == 0) CUDA(rk(handle, part, op, n, k, ALPHA, a.device, lda, BETA, c.device, ldc));           \
            if (kind == 1)                                                                                        \
                CUDA(rkx(handle, part, op, n, k, &alpha, a.device, lda, b.device, lda, BETA, c.device, ldc));     \
            if (kind == 2)                                                                                        \
                CUDA(r2k(handle, part, op, n, k, &alpha, a.device, lda, b.device, lda, BETA, c.device, ldc));     \
            c.download();                                                                                         \
            auto other = [&](Wide z) { return hermitian ? std::conj(z) : z; };                                    \
            auto row = [&](Elements<T>& e, int i, int l) {                                                        \
                return op == CUBLAS_OP_N ? e.at(i + l * lda) : other(e.at(l + i * lda));                          \
            };                                                                                                    \
            for (int j = 0; j < n; j++)                                                                           \
                for (int i = 0; i < n; i++) {                                                                     \
                    size_t at = i + size_t(j) * ldc;                                                              \
                    if (part == CUBLAS_FILL_MODE_LOWER ? i < j : i > j) {                                         \
                        ok &= std::isnan(c.at(at).real());                                                        \
                        continue;                                                                                 \
                    }                                                                                             \
                    Wide wanted = beta_value != 0 ? beta_value * before.at(at) : 0.0;                             \
                    for (int l = 0; l < k; l++) {                                                                 \
                        if (kind == 0) wanted += wide(*(ALPHA)) * row(a, i, l) * other(row(a, j, l));             \
                        if (kind > 0) wanted += wide(alpha) * row(a, i, l) * other(row(b, j, l));                 \
                        if (kind == 2) wanted += other(wide(alpha)) * row(b, i, l) * other(row(a, j, l));         \
                    }                                                                                             \
                    if (hermitian && i == j) wanted = wanted.real();                                              \
                    ok &= near(c.at(at), wanted);                                                                 \
                }                                                                                                 \
        }                                                                                                         \
        (void)real, (void)betas, (void)beta;                                                                      \
    }
#define ALPHA &alpha
#define BETA &betas
UPDATES(float, float, cublasSsyrk, cublasSsyrkx, cublasSsyr2k, false)
UPDATES(double, double, cublasDsyrk, cublasDsyrkx, cublasDsyr2k, false)
UPDATES(cuComplex, float, cublasCsyrk, cublasCsyrkx, cublasCsyr2k, false)
#undef ALPHA
#undef BETA
#define ALPHA &real
#define BETA &beta
UPDATES(cuDoubleComplex, double, cublasZherk, cublasZherkx, cublasZher2k, true)

// a = p * l * u: solutions and inverses.
#define FACTORS(T, letter)                                                                                           \
    void factors(bool pivots, T) {                                                                                   \
        const int n = 5, count = 3, lda = n + 1;                                                                     \
        Elements<T> a(lda * n * count, 1), given(lda * n * count, 1), c(n * n * count), b(n * 2 * count, 4);         \
        Elements<T> right(n * 2 * count, 4);                                                                         \
        if (!pivots)                                                                                                 \
            for (int s = 0; s < count; s++)                                                                          \
                for (int i = 0; i < n; i++) {                                                                        \
                    size_t at = s * lda * n + i + i * lda;                                                           \
                    a[at] = given[at] = narrow<T>(Wide(40) + a.at(at));                                              \
                }                                                                                                    \
        a.upload();                                                                                                  \
        Buffer<T*> as(count), bs(count), cs(count);                                                                  \
        Buffer<int> pivot(n * count), info(count);                                                                   \
        for (int i = 0; i < count; i++)                                                                              \
            as[i] = a.device + i * lda * n, bs[i] = b.device + i * n * 2, cs[i] = c.device + i * n * n;              \
        as.upload(), bs.upload(), cs.upload();                                                                       \
        int* p = pivots ? pivot.device : nullptr;                                                                    \
        int wrong = 1;                                                                                               \
        CUDA(cublas##letter##matinvBatched(handle, n, as.device, lda, cs.device, n, info.device, count));            \
        c.download();                                                                                                \
        Elements<T> direct(n * n * count);                                                                           \
        for (int i = 0; i < n * n * count; i++) direct[i] = c[i];                                                    \
        CUDA(cublas##letter##getrfBatched(handle, n, as.device, lda, p, info.device, count));                        \
        info.download();                                                                                             \
        for (int i = 0; i < count; i++) ok &= info[i] == 0;                                                          \
        CUDA(cublas##letter##getriBatched(handle, n, as.device, lda, p, cs.device, n, info.device, count));          \
        CUDA(cublas##letter##getrsBatched(handle, CUBLAS_OP_T, n, 2, as.device, lda, p, bs.device, n, &wrong,        \
                                          count));                                                                   \
        ok &= wrong == 0;                                                                                            \
        c.download(), b.download();                                                                                  \
        for (int s = 0; s < count; s++)                                                                              \
            for (int i = 0; i < n; i++) {                                                                            \
                for (int j = 0; j < n; j++) {                                                                        \
                    Wide sum = 0;                                                                                    \
                    for (int l = 0; l < n; l++) sum += given.at(s * lda * n + i + l * lda) * c.at(s * n * n + l + j * n); \
                    ok &= near(sum, i == j ? 1 : 0, 1e-3);                                                           \
                    ok &= near(c.at(s * n * n + i + j * n), direct.at(s * n * n + i + j * n), 1e-3);                 \
                }                                                                                                    \
                for (int j = 0; j < 2; j++) {                                                                        \
                    Wide sum = 0;                                                                                    \
                    for (int l = 0; l < n; l++) sum += given.at(s * lda * n + l + i * lda) * b.at(s * n * 2 + l + j * n); \
                    ok &= near(sum, right.at(s * n * 2 + i + j * n), 1e-2);                                          \
                }                                                                                                    \
            }                                                                                                        \
    }
FACTORS(float, S)
FACTORS(double, D)
FACTORS(cuComplex, C)
FACTORS(cuDoubleComplex, Z)

template <class T>
void all() {
    for (auto side : SIDES)
        for (auto part : PARTS)
            for (auto op : OPERATIONS)
                for (auto diagonal : DIAGONALS) triangles(side, part, op, diagonal, T{});
    factors(false, T{});
    factors(true, T{});
}

int main() {
    CUDA(cublasCreate(&handle));
    all<float>();
    all<double>();
    all<cuComplex>();
    all<cuDoubleComplex>();
    for (auto part : PARTS) {
        for (auto side : SIDES) {
            symmetric_Ssymm(side, part), symmetric_Dsymm(side, part);
            symmetric_Csymm(side, part), symmetric_Zhemm(side, part);
        }
        for (double beta : {0.0, 2.0}) {
            for (auto op : {CUBLAS_OP_N, CUBLAS_OP_T}) {
                updates_cublasSsyrk(part, op, beta), updates_cublasDsyrk(part, op, beta);
                updates_cublasCsyrk(part, op, beta);
            }
            for (auto op : {CUBLAS_OP_N, CUBLAS_OP_C}) updates_cublasZherk(part, op, beta);
        }
    }
    Elements<float> a(20, 1), x(4, 2), c(20, 0, false);
    CUDA(cublasSdgmm(handle, CUBLAS_SIDE_RIGHT, 5, 4, a.device, 5, x.device, 1, c.device, 5));
    c.download();
    for (int i = 0; i < 20; i++) ok &= near(c.at(i), a.at(i) * x.at(i / 5));
    // The transposition of a real matrix is no argument for a complex one.
    Elements<cuComplex> z(16, 1);
    float one = 1;
    ok &= cublasCherk(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T, 2, 2, &one, z.device, 2, &one, z.device + 8, 2) ==
          CUBLAS_STATUS_INVALID_VALUE;
    CUDA(cublasDestroy(handle));
    return finish(ok);
}
