//@ opt: O1
//@ seeds: 0
//@ compile-flags: -lcublas
// The old interface of cublas.h: each function gives, to the bit, what the one with a handle gives, which other
// programs test. Errors wait for cublasGetError.
#include <cublas.h>

#include "check.h"

bool ok = true;
cublasHandle_t handle;

inline void set(float& to, int i) { to = float(i % 7 - 3); }
inline void set(double& to, int i) { to = i % 7 - 3; }
inline void set(cuComplex& to, int i) { to = {float(i % 7 - 3), float(i % 5 - 2)}; }
inline void set(cuDoubleComplex& to, int i) { to = {double(i % 7 - 3), double(i % 5 - 2)}; }

constexpr int N = 6, SIZE = N * N;

// A matrix whose triangles can be solved: its diagonal is not 0, in packed form too.
template <class T>
struct Matrix : Buffer<T> {
    explicit Matrix(int seed) : Buffer<T>(SIZE) {
        for (int i = 0; i < SIZE; i++) set(this->host[i], i % 3 == seed % 3 ? 4 : i + seed);
        for (int i = 0, at = 0; i < N; at += i++ + 2) set(this->host[i * N + i], 5), set(this->host[at], 5);
        this->upload();
    }
};

// Both calls get equal arrays `a`, `b` and `c`, and must leave equal bytes.
template <class T, class Old, class Today>
void same(const char* name, Old old, Today today) {
    Matrix<T> a(1), b(2), c(3), d(1), e(2), f(3);
    old(a.device, b.device, c.device);
    bool right = cublasGetError() == CUBLAS_STATUS_SUCCESS;
    right &= today(d.device, e.device, f.device) == CUBLAS_STATUS_SUCCESS;
    SYNC();
    a.download(), b.download(), c.download(), d.download(), e.download(), f.download();
    T *olds[] = {a.host, b.host, c.host}, *todays[] = {d.host, e.host, f.host};
    for (int i = 0; i < 3; i++) right &= memcmp(olds[i], todays[i], SIZE * sizeof(T)) == 0;
    if (!right) printf("%s differs\n", name), ok = false;
}

// The words in brackets are the arguments of the old function and of today's.
#define WORDS(...) __VA_ARGS__
#define SAME(name, olds, todays)                           \
    same<T>(                                               \
        #name, [&](T* a, T* b, T* c) { cublas##name(olds); }, \
        [&](T* a, T* b, T* c) { return cublas##name##_v2(handle, todays); });
#define RESULT(name, Result, olds)                                                                                  \
    {                                                                                                               \
        Matrix<T> x(1), y(2);                                                                                       \
        T *a = x.device, *b = y.device;                                                                             \
        Result today, old = cublas##name(olds);                                                                     \
        CUDA(cublasGetError());                                                                                     \
        CUDA(cublas##name##_v2(handle, olds, &today));                                                              \
        if (memcmp(&old, &today, sizeof old)) printf("%s differs\n", #name), ok = false;                            \
    }
#define UP CUBLAS_FILL_MODE_UPPER
#define LOW CUBLAS_FILL_MODE_LOWER

#define ALL(X, TYPE, R, i, norm)                                                                                    \
    void X(TYPE alpha, TYPE beta, R cosine) {                                                                       \
        using T = TYPE;                                                                                             \
        RESULT(I##i##amax, int, WORDS(N, a, 2))                                                                     \
        RESULT(I##i##amin, int, WORDS(N, a, 2))                                                                     \
        RESULT(norm##asum, R, WORDS(N, a, 2))                                                                       \
        RESULT(norm##nrm2, R, WORDS(N, a, 2))                                                                       \
        SAME(X##axpy, WORDS(N, alpha, a, 2, b, 3), WORDS(N, &alpha, a, 2, b, 3))                                    \
        SAME(X##copy, WORDS(N, a, 2, b, -3), WORDS(N, a, 2, b, -3))                                                 \
        SAME(X##rot, WORDS(N, a, 2, b, 3, cosine, beta), WORDS(N, a, 2, b, 3, &cosine, &beta))                      \
        SAME(X##scal, WORDS(N, alpha, a, 2), WORDS(N, &alpha, a, 2))                                                \
        SAME(X##swap, WORDS(N, a, 2, b, 3), WORDS(N, a, 2, b, 3))                                                   \
        SAME(X##gemv, WORDS('T', 4, 5, alpha, a, N, b, 2, beta, c, 3),                                              \
             WORDS(CUBLAS_OP_T, 4, 5, &alpha, a, N, b, 2, &beta, c, 3))                                             \
        SAME(X##gbmv, WORDS('c', 4, 5, 1, 2, alpha, a, N, b, 2, beta, c, 3),                                        \
             WORDS(CUBLAS_OP_C, 4, 5, 1, 2, &alpha, a, N, b, 2, &beta, c, 3))                                       \
        SAME(X##trmv, WORDS('U', 'n', 'U', 5, a, N, b, 2),                                                          \
             WORDS(UP, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, 5, a, N, b, 2))                                               \
        SAME(X##trsv, WORDS('l', 't', 'n', 5, a, N, b, 2),                                                          \
             WORDS(LOW, CUBLAS_OP_T, CUBLAS_DIAG_NON_UNIT, 5, a, N, b, 2))                                          \
        SAME(X##tbmv, WORDS('u', 'n', 'n', 5, 2, a, N, b, 2),                                                       \
             WORDS(UP, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, 5, 2, a, N, b, 2))                                        \
        SAME(X##tbsv, WORDS('l', 'c', 'u', 5, 2, a, N, b, 2),                                                       \
             WORDS(LOW, CUBLAS_OP_C, CUBLAS_DIAG_UNIT, 5, 2, a, N, b, 2))                                           \
        SAME(X##tpmv, WORDS('u', 't', 'n', 5, a, b, 2),                                                             \
             WORDS(UP, CUBLAS_OP_T, CUBLAS_DIAG_NON_UNIT, 5, a, b, 2))                                              \
        SAME(X##tpsv, WORDS('u', 'n', 'u', 5, a, b, 2), WORDS(UP, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, 5, a, b, 2))       \
        SAME(X##gemm, WORDS('n', 'T', 3, 4, 5, alpha, a, N, b, N, beta, c, N),                                      \
             WORDS(CUBLAS_OP_N, CUBLAS_OP_T, 3, 4, 5, &alpha, a, N, b, N, &beta, c, N))                             \
        SAME(X##symm, WORDS('r', 'u', 3, 4, alpha, a, N, b, N, beta, c, N),                                         \
             WORDS(CUBLAS_SIDE_RIGHT, UP, 3, 4, &alpha, a, N, b, N, &beta, c, N))                                   \
        SAME(X##syrk, WORDS('l', 't', 3, 4, alpha, a, N, beta, c, N),                                               \
             WORDS(LOW, CUBLAS_OP_T, 3, 4, &alpha, a, N, &beta, c, N))                                              \
        SAME(X##syr2k, WORDS('u', 'n', 3, 4, alpha, a, N, b, N, beta, c, N),                                        \
             WORDS(UP, CUBLAS_OP_N, 3, 4, &alpha, a, N, b, N, &beta, c, N))                                         \
        SAME(X##trmm, WORDS('l', 'u', 'n', 'u', 3, 4, alpha, a, N, b, N),                                           \
             WORDS(CUBLAS_SIDE_LEFT, UP, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, 3, 4, &alpha, a, N, b, N, b, N))            \
        SAME(X##trsm, WORDS('r', 'l', 't', 'n', 3, 4, alpha, a, N, b, N),                                           \
             WORDS(CUBLAS_SIDE_RIGHT, LOW, CUBLAS_OP_T, CUBLAS_DIAG_NON_UNIT, 3, 4, &alpha, a, N, b, N))            \
        T p, q, s, t, u, v;                                                                                         \
        R k, l;                                                                                                     \
        set(p, 4), set(q, 6), t = p, u = q;                                                                         \
        cublas##X##rotg(&p, &q, &k, &s);                                                                            \
        CUDA(cublas##X##rotg_v2(handle, &t, &u, &l, &v));                                                           \
        ok &= !memcmp(&p, &t, sizeof p) && !memcmp(&q, &u, sizeof q) && k == l && !memcmp(&s, &v, sizeof s);        \
    }

#define SYMMETRIC(X, full, band, packed, rank_1, packed_1, rank_2, packed_2, scale)                                \
    SAME(X##full, WORDS('u', 5, alpha, a, N, b, 2, beta, c, 3), WORDS(UP, 5, &alpha, a, N, b, 2, &beta, c, 3))      \
    SAME(X##band, WORDS('l', 5, 2, alpha, a, N, b, 2, beta, c, 3),                                                  \
         WORDS(LOW, 5, 2, &alpha, a, N, b, 2, &beta, c, 3))                                                         \
    SAME(X##packed, WORDS('u', 5, alpha, a, b, 2, beta, c, 3), WORDS(UP, 5, &alpha, a, b, 2, &beta, c, 3))          \
    SAME(X##rank_1, WORDS('l', 5, scale, a, 2, b, N), WORDS(LOW, 5, &scale, a, 2, b, N))                            \
    SAME(X##packed_1, WORDS('u', 5, scale, a, 2, b), WORDS(UP, 5, &scale, a, 2, b))                                 \
    SAME(X##rank_2, WORDS('u', 5, alpha, a, 2, b, 3, c, N), WORDS(UP, 5, &alpha, a, 2, b, 3, c, N))                 \
    SAME(X##packed_2, WORDS('l', 5, alpha, a, 2, b, 3, c), WORDS(LOW, 5, &alpha, a, 2, b, 3, c))

#define REAL(X, TYPE)                                                                                               \
    void X##_real(TYPE alpha, TYPE beta) {                                                                          \
        using T = TYPE;                                                                                             \
        T turns[] = {-1, 2, 3, 4, 5};                                                                               \
        RESULT(X##dot, T, WORDS(N, a, 2, b, 3))                                                                     \
        SAME(X##rotm, WORDS(N, a, 2, b, 3, turns), WORDS(N, a, 2, b, 3, turns))                                     \
        SAME(X##ger, WORDS(4, 5, alpha, a, 2, b, 3, c, N), WORDS(4, 5, &alpha, a, 2, b, 3, c, N))                   \
        SYMMETRIC(X, symv, sbmv, spmv, syr, spr, syr2, spr2, alpha)                                                 \
    }

#define COMPLEX(X, TYPE, R, XR)                                                                                     \
    void X##_complex(TYPE alpha, TYPE beta, R real, R sine) {                                                       \
        using T = TYPE;                                                                                             \
        RESULT(X##dotu, T, WORDS(N, a, 2, b, 3))                                                                    \
        RESULT(X##dotc, T, WORDS(N, a, 2, b, 3))                                                                    \
        SAME(XR##scal, WORDS(N, real, a, 2), WORDS(N, &real, a, 2))                                                 \
        SAME(XR##rot, WORDS(N, a, 2, b, 3, real, sine), WORDS(N, a, 2, b, 3, &real, &sine))                         \
        SAME(X##geru, WORDS(4, 5, alpha, a, 2, b, 3, c, N), WORDS(4, 5, &alpha, a, 2, b, 3, c, N))                  \
        SAME(X##gerc, WORDS(4, 5, alpha, a, 2, b, 3, c, N), WORDS(4, 5, &alpha, a, 2, b, 3, c, N))                  \
        SAME(X##hemm, WORDS('l', 'u', 3, 4, alpha, a, N, b, N, beta, c, N),                                         \
             WORDS(CUBLAS_SIDE_LEFT, UP, 3, 4, &alpha, a, N, b, N, &beta, c, N))                                    \
        SAME(X##herk, WORDS('u', 'c', 3, 4, real, a, N, sine, c, N),                                                \
             WORDS(UP, CUBLAS_OP_C, 3, 4, &real, a, N, &sine, c, N))                                                \
        SAME(X##her2k, WORDS('l', 'n', 3, 4, alpha, a, N, b, N, sine, c, N),                                        \
             WORDS(LOW, CUBLAS_OP_N, 3, 4, &alpha, a, N, b, N, &sine, c, N))                                        \
        SYMMETRIC(X, hemv, hbmv, hpmv, her, hpr, her2, hpr2, real)                                                  \
    }

ALL(S, float, float, s, S)
ALL(D, double, double, d, D)
ALL(C, cuComplex, float, c, Sc)
ALL(Z, cuDoubleComplex, double, z, Dz)
REAL(S, float)
REAL(D, double)
COMPLEX(C, cuComplex, float, Cs)
COMPLEX(Z, cuDoubleComplex, double, Zd)

int main() {
    int version = 0, version_today = 0;
    ok &= cublasGetVersion(&version) == CUBLAS_STATUS_NOT_INITIALIZED;
    cublasSscal(1, 2.0f, nullptr, 1);
    ok &= cublasGetError() == CUBLAS_STATUS_NOT_INITIALIZED && cublasGetError() == CUBLAS_STATUS_SUCCESS;
    CUDA(cublasInit());
    CUDA(cublasCreate_v2(&handle));
    CUDA(cublasGetVersion(&version));
    CUDA(cublasGetVersion_v2(handle, &version_today));
    ok &= version == version_today;

    S(2, -3, 0.5f), S_real(2, -3);
    D(2, -3, 0.5), D_real(2, -3);
    C({2, -1}, {1, 3}, 0.5f), C_complex({2, -1}, {1, 3}, 2, -3);
    Z({2, -1}, {1, 3}, 0.5), Z_complex({2, -1}, {1, 3}, 2, -3);

    // A wrong letter or size is an error, which the next success keeps.
    Matrix<float> a(1), b(2), c(3);
    cublasSgemm('x', 'n', 2, 2, 2, 1, a.device, N, b.device, N, 0, c.device, N);
    cublasSscal(1, 1.0f, a.device, 1);
    ok &= cublasGetError() == CUBLAS_STATUS_INVALID_VALUE && cublasGetError() == CUBLAS_STATUS_SUCCESS;

    float* made = nullptr;
    float two[] = {1, 2}, back[2] = {};
    CUDA(cublasAlloc(2, sizeof(float), reinterpret_cast<void**>(&made)));
    CUDA(cublasSetVector(2, sizeof(float), two, 1, made, 1));
    cudaStream_t stream;
    CUDA(cudaStreamCreate(&stream));
    CUDA(cublasSetKernelStream(stream));
    cublasSscal(2, 3, made, 1);
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cublasGetVector(2, sizeof(float), made, 1, back, 1));
    ok &= back[0] == 3 && back[1] == 6;
    CUDA(cublasFree(made));
    CUDA(cublasShutdown());
    ok &= cublasShutdown() == CUBLAS_STATUS_NOT_INITIALIZED;
    return finish(ok);
}
