//@ opt: O1
//@ seeds: 0
//@ compile-flags: -lcublas
// Level 2: matrices stored whole, by bands and packed, with all transpositions. Elements outside of what is stored are
// no numbers, so that a call that reads them computes none.
#include "blas.h"

cublasHandle_t handle;
bool ok = true;

// A square matrix on the host, and how it is stored.
template <class T>
struct Square {
    int n;
    std::vector<Wide> values;
    cublasFillMode_t part;

    Square(int n, cublasFillMode_t part, int beside, bool unit) : n(n), values(n * n), part(part) {
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++) {
                bool inside = part == CUBLAS_FILL_MODE_LOWER ? i >= j && i - j <= beside : i <= j && j - i <= beside;
                values[i + j * n] = inside ? wide(number<T>(i * 3 + j)) : 0.0;
                if (i == j) values[i + j * n] = unit ? 1.0 : 20.0 + i;
            }
    }
    Wide at(int i, int j) { return values[i + j * n]; }
    Wide at(cublasOperation_t op, int i, int j) { return apply(op, op == CUBLAS_OP_N ? at(i, j) : at(j, i)); }
    Wide mirrored(bool hermitian, int i, int j) {
        bool inside = part == CUBLAS_FILL_MODE_LOWER ? i >= j : i <= j;
        return inside ? at(i, j) : hermitian ? std::conj(at(j, i)) : at(j, i);
    }
    bool stores(int i, int j) { return part == CUBLAS_FILL_MODE_LOWER ? i >= j : i <= j; }

    template <class Place>
    void store(Elements<T>& to, int beside, bool unit, Place place) {
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++)
                if (stores(i, j) && abs(i - j) <= beside && !(unit && i == j)) to[place(i, j)] = narrow<T>(at(i, j));
        to.upload();
    }
    int packed(int i, int j) { return part == CUBLAS_FILL_MODE_UPPER ? j * (j + 1) / 2 + i : j * n - j * (j - 1) / 2 + i - j; }
    int band(int i, int j, int beside, int lda) { return j * lda + (part == CUBLAS_FILL_MODE_UPPER ? beside + i - j : i - j); }
};

template <class T>
void check(Elements<T>& y, int step, int n, std::vector<Wide> wanted) {
    y.download();
    for (int i = 0; i < n; i++) ok &= near(y.at(size_t(i) * step), wanted[i], 1e-3);
}

#define TRIANGLES(T, letter)                                                                                     \
    void triangles(cublasFillMode_t part, cublasOperation_t op, cublasDiagType_t diagonal, int n, T) {           \
        bool unit = diagonal == CUBLAS_DIAG_UNIT;                                                                \
        int lda = n + 2, k = 2, ldb = k + 2;                                                                     \
        for (int kind = 0; kind < 3; kind++) {                                                                   \
            int beside = kind == 1 ? k : n;                                                                      \
            Square<T> s(n, part, beside, unit);                                                                  \
            Elements<T> a(n * lda, 0, false), x(2 * n, 5), solved(2 * n, 5), given(2 * n, 5);                    \
            s.store(a, beside, unit, [&](int i, int j) {                                                         \
                return kind == 0 ? i + j * lda : kind == 1 ? s.band(i, j, k, ldb) : s.packed(i, j);              \
            });                                                                                                  \
            if (kind == 0) {                                                                                     \
                CUDA(cublas##letter##trmv(handle, part, op, diagonal, n, a.device, lda, x.device, 2));           \
                CUDA(cublas##letter##trsv(handle, part, op, diagonal, n, a.device, lda, solved.device, 2));      \
            } else if (kind == 1) {                                                                              \
                CUDA(cublas##letter##tbmv(handle, part, op, diagonal, n, k, a.device, ldb, x.device, 2));        \
                CUDA(cublas##letter##tbsv(handle, part, op, diagonal, n, k, a.device, ldb, solved.device, 2));   \
            } else {                                                                                             \
                CUDA(cublas##letter##tpmv(handle, part, op, diagonal, n, a.device, x.device, 2));                \
                CUDA(cublas##letter##tpsv(handle, part, op, diagonal, n, a.device, solved.device, 2));           \
            }                                                                                                    \
            std::vector<Wide> product(n), back(n);                                                               \
            solved.download();                                                                                   \
            for (int i = 0; i < n; i++)                                                                          \
                for (int j = 0; j < n; j++) {                                                                    \
                    product[i] += s.at(op, i, j) * given.at(2 * j);                                              \
                    back[i] += s.at(op, i, j) * solved.at(2 * j);                                                \
                }                                                                                                \
            check(x, 2, n, product);                                                                             \
            double size = 1;                                                                                     \
            for (int i = 0; i < n; i++) size = std::max(size, std::abs(solved.at(2 * i)));                       \
            for (int i = 0; i < n; i++) ok &= near(back[i] / size, given.at(2 * i) / size, 1e-3);                \
            for (int i = 0; i < n; i++) ok &= near(solved.at(2 * i + 1), given.at(2 * i + 1));                   \
        }                                                                                                        \
    }
TRIANGLES(float, S)
TRIANGLES(double, D)
TRIANGLES(cuComplex, C)
TRIANGLES(cuDoubleComplex, Z)

#define SYMMETRIC(T, R, mv, bmv, pmv, r, pr, r2, pr2, hermitian)                                                  \
    void symmetric(cublasFillMode_t part, int n, T) {                                                             \
        int lda = n + 2, k = 2, ldb = k + 2;                                                                      \
        T alpha = narrow<T>({2, is_complex<T> ? 1.0 : 0.0}), beta = narrow<T>(-1);                                \
        R real = 2;                                                                                               \
        for (int kind = 0; kind < 3; kind++) {                                                                    \
            int beside = kind == 1 ? k : n;                                                                       \
            Square<T> s(n, part, beside, false);                                                                  \
            Elements<T> a(n * lda, 0, false), x(n, 5), y(n, 6), given(n, 6);                                      \
            auto place = [&](int i, int j) {                                                                      \
                return kind == 0 ? i + j * lda : kind == 1 ? s.band(i, j, k, ldb) : s.packed(i, j);               \
            };                                                                                                    \
            s.store(a, beside, false, place);                                                                     \
            if (kind == 0) CUDA(mv(handle, part, n, &alpha, a.device, lda, x.device, 1, &beta, y.device, 1));     \
            if (kind == 1) CUDA(bmv(handle, part, n, k, &alpha, a.device, ldb, x.device, 1, &beta, y.device, 1)); \
            if (kind == 2) CUDA(pmv(handle, part, n, &alpha, a.device, x.device, 1, &beta, y.device, 1));         \
            std::vector<Wide> product(n);                                                                         \
            for (int i = 0; i < n; i++) {                                                                         \
                product[i] = -given.at(i);                                                                        \
                for (int j = 0; j < n; j++) product[i] += wide(alpha) * s.mirrored(hermitian, i, j) * x.at(j);    \
            }                                                                                                     \
            check(y, 1, n, product);                                                                              \
            if (kind == 1) continue;                                                                              \
            y.upload();                                                                                           \
            if (kind == 0) CUDA(r(handle, part, n, RANK_1, x.device, 1, a.device, lda));                          \
            if (kind == 2) CUDA(pr(handle, part, n, RANK_1, x.device, 1, a.device));                              \
            if (kind == 0) CUDA(r2(handle, part, n, &alpha, x.device, 1, y.device, 1, a.device, lda));            \
            if (kind == 2) CUDA(pr2(handle, part, n, &alpha, x.device, 1, y.device, 1, a.device));                \
            a.download(), y.download();                                                                           \
            for (int j = 0; j < n; j++)                                                                           \
                for (int i = 0; i < n; i++) {                                                                     \
                    if (!s.stores(i, j)) {                                                                        \
                        if (kind == 0) ok &= std::isnan(a.at(place(i, j)).real());                                \
                        continue;                                                                                 \
                    }                                                                                             \
                    auto other = [&](Wide z) { return hermitian ? std::conj(z) : z; };                            \
                    Wide wanted = s.at(i, j) + wide(FACTOR_1) * x.at(i) * other(x.at(j));                         \
                    wanted += wide(alpha) * x.at(i) * other(y.at(j));                                             \
                    wanted += other(wide(alpha)) * y.at(i) * other(x.at(j));                                      \
                    ok &= near(a.at(place(i, j)), wanted, 1e-3);                                                  \
                }                                                                                                 \
        }                                                                                                         \
        (void)real;                                                                                               \
    }
#define RANK_1 &alpha
#define FACTOR_1 alpha
SYMMETRIC(float, float, cublasSsymv, cublasSsbmv, cublasSspmv, cublasSsyr, cublasSspr, cublasSsyr2, cublasSspr2, false)
SYMMETRIC(double, double, cublasDsymv, cublasDsbmv, cublasDspmv, cublasDsyr, cublasDspr, cublasDsyr2, cublasDspr2, false)
#undef RANK_1
#undef FACTOR_1
#define RANK_1 &real
#define FACTOR_1 real
SYMMETRIC(cuComplex, float, cublasChemv, cublasChbmv, cublasChpmv, cublasCher, cublasChpr, cublasCher2, cublasChpr2, true)
SYMMETRIC(cuDoubleComplex, double, cublasZhemv, cublasZhbmv, cublasZhpmv, cublasZher, cublasZhpr, cublasZher2, cublasZhpr2, true)

#define WHOLE(T, letter, product)                                                                                 \
    void whole(cublasOperation_t op, int m, int n, T) {                                                           \
        int lda = m + 2, below = 1, above = 2, ldb = below + above + 1;                                           \
        int length_x = op == CUBLAS_OP_N ? n : m, length_y = op == CUBLAS_OP_N ? m : n;                           \
        T alpha = narrow<T>({2, is_complex<T> ? 1.0 : 0.0}), beta = narrow<T>(0);                                 \
        Elements<T> a(n * lda, 1), band(n * ldb, 0, false), x(2 * length_x, 2), y(length_y, 0, false);            \
        Elements<T> z(length_y, 0, false), u(m, 3), v(n, 4), w(2 * length_y, 0, false);                           \
        for (int j = 0; j < n; j++)                                                                               \
            for (int i = std::max(0, j - above); i < std::min(m, j + below + 1); i++)                             \
                band[j * ldb + above + i - j] = a[i + j * lda];                                                   \
        band.upload();                                                                                            \
        CUDA(cublas##letter##gemv(handle, op, m, n, &alpha, a.device, lda, x.device, 2, &beta, y.device, -1));    \
        CUDA(cublas##letter##gbmv(handle, op, m, n, below, above, &alpha, band.device, ldb, x.device, 2, &beta,   \
                                  z.device, 1));                                                                  \
        CUDA(cublas##letter##gemvStridedBatched(handle, op, m, n, &alpha, a.device, lda, 0, x.device, 2, 1, &beta, \
                                                w.device, 1, length_y, 2));                                       \
        y.download(), z.download(), w.download();                                                                 \
        for (int i = 0; i < length_y; i++) {                                                                      \
            Wide sum = 0, in_band = 0, second = 0;                                                                \
            for (int j = 0; j < length_x; j++) {                                                                  \
                int row = op == CUBLAS_OP_N ? i : j, column = op == CUBLAS_OP_N ? j : i;                          \
                Wide value = wide(alpha) * element(a, lda, op, i, j);                                             \
                sum += value * x.at(2 * j), second += value * x.at(2 * j + 1);                                    \
                if (row - column <= below && column - row <= above) in_band += value * x.at(2 * j);               \
            }                                                                                                     \
            ok &= near(y.at(length_y - 1 - i), sum) && near(z.at(i), in_band);                                    \
            ok &= near(w.at(i), sum) && near(w.at(length_y + i), second);                                         \
        }                                                                                                         \
        Elements<T> before(n * lda, 1);                                                                           \
        CUDA(cublas##letter##product(handle, m, n, &alpha, u.device, 1, v.device, 1, a.device, lda));             \
        a.download();                                                                                             \
        for (int j = 0; j < n; j++)                                                                               \
            for (int i = 0; i < lda; i++) {                                                                       \
                Wide added = i < m ? wide(alpha) * u.at(i) * std::conj(v.at(j)) : 0.0;                            \
                ok &= near(a.at(i + j * lda), before.at(i + j * lda) + added);                                    \
            }                                                                                                     \
    }
WHOLE(float, S, ger)
WHOLE(double, D, ger)
WHOLE(cuComplex, C, gerc)
WHOLE(cuDoubleComplex, Z, gerc)

template <class T>
void all() {
    for (auto op : OPERATIONS) {
        whole(op, 5, 8, T{});
        whole(op, 9, 4, T{});
        for (auto part : PARTS)
            for (auto diagonal : DIAGONALS)
                for (int n : {1, 6}) triangles(part, op, diagonal, n, T{});
    }
    for (auto part : PARTS) symmetric(part, 7, T{});
}

int main() {
    CUDA(cublasCreate(&handle));
    all<float>();
    all<double>();
    all<cuComplex>();
    all<cuDoubleComplex>();
    CUDA(cublasDestroy(handle));
    return finish(ok);
}
