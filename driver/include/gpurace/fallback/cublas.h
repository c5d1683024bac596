// cuBLAS's interface of before handles: BLAS's letters, scalars by value, results returned. Used only if the
// toolkit has no header of this name. docs/libraries.md tells what differs from `cublas_v2.h`.
#ifndef CUBLAS_H_
#define CUBLAS_H_

#ifdef CUBLAS_V2_H_
#error "cublas.h and cublas_v2.h exclude each other"
#endif

#include "cublas_api.h"

#if defined(__cplusplus)
extern "C" {
#endif

typedef cublasStatus_t cublasStatus;

cublasStatus CUBLASWINAPI cublasInit(void);
cublasStatus CUBLASWINAPI cublasShutdown(void);
cublasStatus CUBLASWINAPI cublasGetError(void);
cublasStatus CUBLASWINAPI cublasGetVersion(int *version);
cublasStatus CUBLASWINAPI cublasAlloc(int n, int elemSize, void **devicePtr);
cublasStatus CUBLASWINAPI cublasFree(void *devicePtr);
cublasStatus CUBLASWINAPI cublasSetKernelStream(cudaStream_t stream);

// The functions that all types have. `T` is the type and `R` that of its parts. `i` is the letter of the type
// in names of indices, and `norm` is the letters of sums and norms.
#define GPURACE_CUBLAS(X, T, R, i, norm)                                                                     \
  int CUBLASWINAPI cublasI##i##amax(int n, const T *x, int incx);                                            \
  int CUBLASWINAPI cublasI##i##amin(int n, const T *x, int incx);                                            \
  R CUBLASWINAPI cublas##norm##asum(int n, const T *x, int incx);                                            \
  R CUBLASWINAPI cublas##norm##nrm2(int n, const T *x, int incx);                                            \
  void CUBLASWINAPI cublas##X##axpy(int n, T alpha, const T *x, int incx, T *y, int incy);                   \
  void CUBLASWINAPI cublas##X##copy(int n, const T *x, int incx, T *y, int incy);                            \
  void CUBLASWINAPI cublas##X##rot(int n, T *x, int incx, T *y, int incy, R c, T s);                         \
  void CUBLASWINAPI cublas##X##rotg(T *a, T *b, R *c, T *s);                                                 \
  void CUBLASWINAPI cublas##X##scal(int n, T alpha, T *x, int incx);                                         \
  void CUBLASWINAPI cublas##X##swap(int n, T *x, int incx, T *y, int incy);                                  \
  void CUBLASWINAPI cublas##X##gemv(char trans, int m, int n, T alpha, const T *A, int lda, const T *x,      \
                                    int incx, T beta, T *y, int incy);                                       \
  void CUBLASWINAPI cublas##X##gbmv(char trans, int m, int n, int kl, int ku, T alpha, const T *A, int lda,  \
                                    const T *x, int incx, T beta, T *y, int incy);                           \
  void CUBLASWINAPI cublas##X##trmv(char uplo, char trans, char diag, int n, const T *A, int lda, T *x,      \
                                    int incx);                                                               \
  void CUBLASWINAPI cublas##X##trsv(char uplo, char trans, char diag, int n, const T *A, int lda, T *x,      \
                                    int incx);                                                               \
  void CUBLASWINAPI cublas##X##tbmv(char uplo, char trans, char diag, int n, int k, const T *A, int lda,     \
                                    T *x, int incx);                                                         \
  void CUBLASWINAPI cublas##X##tbsv(char uplo, char trans, char diag, int n, int k, const T *A, int lda,     \
                                    T *x, int incx);                                                         \
  void CUBLASWINAPI cublas##X##tpmv(char uplo, char trans, char diag, int n, const T *AP, T *x, int incx);   \
  void CUBLASWINAPI cublas##X##tpsv(char uplo, char trans, char diag, int n, const T *AP, T *x, int incx);   \
  void CUBLASWINAPI cublas##X##gemm(char transa, char transb, int m, int n, int k, T alpha, const T *A,      \
                                    int lda, const T *B, int ldb, T beta, T *C, int ldc);                    \
  void CUBLASWINAPI cublas##X##symm(char side, char uplo, int m, int n, T alpha, const T *A, int lda,        \
                                    const T *B, int ldb, T beta, T *C, int ldc);                             \
  void CUBLASWINAPI cublas##X##syrk(char uplo, char trans, int n, int k, T alpha, const T *A, int lda,       \
                                    T beta, T *C, int ldc);                                                  \
  void CUBLASWINAPI cublas##X##syr2k(char uplo, char trans, int n, int k, T alpha, const T *A, int lda,      \
                                     const T *B, int ldb, T beta, T *C, int ldc);                            \
  void CUBLASWINAPI cublas##X##trmm(char side, char uplo, char transa, char diag, int m, int n, T alpha,     \
                                    const T *A, int lda, T *B, int ldb);                                     \
  void CUBLASWINAPI cublas##X##trsm(char side, char uplo, char transa, char diag, int m, int n, T alpha,     \
                                    const T *A, int lda, T *B, int ldb);

// A matrix that equals its transpose, or its conjugate transpose.
#define GPURACE_CUBLAS_SYMMETRIC(X, T, R, full, band, packed, rank_1, packed_1, rank_2, packed_2)            \
  void CUBLASWINAPI cublas##X##full(char uplo, int n, T alpha, const T *A, int lda, const T *x, int incx,    \
                                    T beta, T *y, int incy);                                                 \
  void CUBLASWINAPI cublas##X##band(char uplo, int n, int k, T alpha, const T *A, int lda, const T *x,       \
                                    int incx, T beta, T *y, int incy);                                       \
  void CUBLASWINAPI cublas##X##packed(char uplo, int n, T alpha, const T *AP, const T *x, int incx, T beta,  \
                                      T *y, int incy);                                                       \
  void CUBLASWINAPI cublas##X##rank_1(char uplo, int n, R alpha, const T *x, int incx, T *A, int lda);       \
  void CUBLASWINAPI cublas##X##packed_1(char uplo, int n, R alpha, const T *x, int incx, T *AP);             \
  void CUBLASWINAPI cublas##X##rank_2(char uplo, int n, T alpha, const T *x, int incx, const T *y, int incy, \
                                      T *A, int lda);                                                        \
  void CUBLASWINAPI cublas##X##packed_2(char uplo, int n, T alpha, const T *x, int incx, const T *y,         \
                                        int incy, T *AP);

#define GPURACE_CUBLAS_REAL(X, T)                                                                            \
  T CUBLASWINAPI cublas##X##dot(int n, const T *x, int incx, const T *y, int incy);                          \
  void CUBLASWINAPI cublas##X##rotm(int n, T *x, int incx, T *y, int incy, const T *param);                  \
  void CUBLASWINAPI cublas##X##rotmg(T *d1, T *d2, T *x1, const T *y1, T *param);                            \
  void CUBLASWINAPI cublas##X##ger(int m, int n, T alpha, const T *x, int incx, const T *y, int incy, T *A,  \
                                   int lda);                                                                 \
  GPURACE_CUBLAS_SYMMETRIC(X, T, T, symv, sbmv, spmv, syr, spr, syr2, spr2)

// `XR` names a function of complex vectors and real scalars.
#define GPURACE_CUBLAS_COMPLEX(X, T, R, XR)                                                                  \
  T CUBLASWINAPI cublas##X##dotu(int n, const T *x, int incx, const T *y, int incy);                         \
  T CUBLASWINAPI cublas##X##dotc(int n, const T *x, int incx, const T *y, int incy);                         \
  void CUBLASWINAPI cublas##XR##scal(int n, R alpha, T *x, int incx);                                        \
  void CUBLASWINAPI cublas##XR##rot(int n, T *x, int incx, T *y, int incy, R c, R s);                        \
  void CUBLASWINAPI cublas##X##geru(int m, int n, T alpha, const T *x, int incx, const T *y, int incy, T *A, \
                                    int lda);                                                                \
  void CUBLASWINAPI cublas##X##gerc(int m, int n, T alpha, const T *x, int incx, const T *y, int incy, T *A, \
                                    int lda);                                                                \
  void CUBLASWINAPI cublas##X##hemm(char side, char uplo, int m, int n, T alpha, const T *A, int lda,        \
                                    const T *B, int ldb, T beta, T *C, int ldc);                             \
  void CUBLASWINAPI cublas##X##herk(char uplo, char trans, int n, int k, R alpha, const T *A, int lda,       \
                                    R beta, T *C, int ldc);                                                  \
  void CUBLASWINAPI cublas##X##her2k(char uplo, char trans, int n, int k, T alpha, const T *A, int lda,      \
                                     const T *B, int ldb, R beta, T *C, int ldc);                            \
  GPURACE_CUBLAS_SYMMETRIC(X, T, R, hemv, hbmv, hpmv, her, hpr, her2, hpr2)

GPURACE_CUBLAS(S, float, float, s, S)
GPURACE_CUBLAS(D, double, double, d, D)
GPURACE_CUBLAS(C, cuComplex, float, c, Sc)
GPURACE_CUBLAS(Z, cuDoubleComplex, double, z, Dz)
GPURACE_CUBLAS_REAL(S, float)
GPURACE_CUBLAS_REAL(D, double)
GPURACE_CUBLAS_COMPLEX(C, cuComplex, float, Cs)
GPURACE_CUBLAS_COMPLEX(Z, cuDoubleComplex, double, Zd)

#undef GPURACE_CUBLAS
#undef GPURACE_CUBLAS_SYMMETRIC
#undef GPURACE_CUBLAS_REAL
#undef GPURACE_CUBLAS_COMPLEX

#if defined(__cplusplus)
}
#endif

#endif
