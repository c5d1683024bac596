// Functions that exist for several types. Part of functions.h. `T` is the type, `X` its letter and `R` the
// type of its parts.

// `i` is the letter of the type in names of indices, and `norm` is the letters of sums and norms.
#define GPURACE_CUBLAS(X, T, R, i, norm)                                                                     \
  CUBLAS_FUNCTION(I##i##amax_v2)(cublasHandle_t handle, CUBLAS_INT n, const T *x, CUBLAS_INT incx,           \
                                 CUBLAS_INT *result);                                                        \
  CUBLAS_FUNCTION(I##i##amin_v2)(cublasHandle_t handle, CUBLAS_INT n, const T *x, CUBLAS_INT incx,           \
                                 CUBLAS_INT *result);                                                        \
  CUBLAS_FUNCTION(norm##asum_v2)(cublasHandle_t handle, CUBLAS_INT n, const T *x, CUBLAS_INT incx,           \
                                 R *result);                                                                 \
  CUBLAS_FUNCTION(norm##nrm2_v2)(cublasHandle_t handle, CUBLAS_INT n, const T *x, CUBLAS_INT incx,           \
                                 R *result);                                                                 \
  CUBLAS_FUNCTION(X##axpy_v2)(cublasHandle_t handle, CUBLAS_INT n, const T *alpha, const T *x,               \
                              CUBLAS_INT incx, T *y, CUBLAS_INT incy);                                       \
  CUBLAS_FUNCTION(X##copy_v2)(cublasHandle_t handle, CUBLAS_INT n, const T *x, CUBLAS_INT incx, T *y,        \
                              CUBLAS_INT incy);                                                              \
  CUBLAS_FUNCTION(X##rot_v2)(cublasHandle_t handle, CUBLAS_INT n, T * x, CUBLAS_INT incx, T * y,             \
                             CUBLAS_INT incy, const R *c, const T *s);                                       \
  CUBLAS_FUNCTION(X##scal_v2)(cublasHandle_t handle, CUBLAS_INT n, const T *alpha, T *x, CUBLAS_INT incx);   \
  CUBLAS_FUNCTION(X##swap_v2)(cublasHandle_t handle, CUBLAS_INT n, T * x, CUBLAS_INT incx, T * y,            \
                              CUBLAS_INT incy);                                                              \
  CUBLAS_FUNCTION(X##gemv_v2)(cublasHandle_t handle, cublasOperation_t trans, CUBLAS_INT m, CUBLAS_INT n,    \
                              const T *alpha, const T *A, CUBLAS_INT lda, const T *x, CUBLAS_INT incx,       \
                              const T *beta, T *y, CUBLAS_INT incy);                                         \
  CUBLAS_FUNCTION(X##gemvBatched)(cublasHandle_t handle, cublasOperation_t trans, CUBLAS_INT m,              \
                                  CUBLAS_INT n, const T *alpha, const T *const *Aarray, CUBLAS_INT lda,      \
                                  const T *const *xarray, CUBLAS_INT incx, const T *beta, T *const *yarray,  \
                                  CUBLAS_INT incy, CUBLAS_INT batchCount);                                   \
  CUBLAS_FUNCTION(X##gemvStridedBatched)(                                                                    \
      cublasHandle_t handle, cublasOperation_t trans, CUBLAS_INT m, CUBLAS_INT n, const T *alpha,            \
      const T *A, CUBLAS_INT lda, long long int strideA, const T *x, CUBLAS_INT incx, long long int stridex, \
      const T *beta, T *y, CUBLAS_INT incy, long long int stridey, CUBLAS_INT batchCount);                   \
  CUBLAS_FUNCTION(X##gbmv_v2)(cublasHandle_t handle, cublasOperation_t trans, CUBLAS_INT m, CUBLAS_INT n,    \
                              CUBLAS_INT kl, CUBLAS_INT ku, const T *alpha, const T *A, CUBLAS_INT lda,      \
                              const T *x, CUBLAS_INT incx, const T *beta, T *y, CUBLAS_INT incy);            \
  CUBLAS_FUNCTION(X##trmv_v2)(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,         \
                              cublasDiagType_t diag, CUBLAS_INT n, const T *A, CUBLAS_INT lda, T *x,         \
                              CUBLAS_INT incx);                                                              \
  CUBLAS_FUNCTION(X##trsv_v2)(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,         \
                              cublasDiagType_t diag, CUBLAS_INT n, const T *A, CUBLAS_INT lda, T *x,         \
                              CUBLAS_INT incx);                                                              \
  CUBLAS_FUNCTION(X##tbmv_v2)(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,         \
                              cublasDiagType_t diag, CUBLAS_INT n, CUBLAS_INT k, const T *A, CUBLAS_INT lda, \
                              T *x, CUBLAS_INT incx);                                                        \
  CUBLAS_FUNCTION(X##tbsv_v2)(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,         \
                              cublasDiagType_t diag, CUBLAS_INT n, CUBLAS_INT k, const T *A, CUBLAS_INT lda, \
                              T *x, CUBLAS_INT incx);                                                        \
  CUBLAS_FUNCTION(X##tpmv_v2)(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,         \
                              cublasDiagType_t diag, CUBLAS_INT n, const T *AP, T *x, CUBLAS_INT incx);      \
  CUBLAS_FUNCTION(X##tpsv_v2)(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,         \
                              cublasDiagType_t diag, CUBLAS_INT n, const T *AP, T *x, CUBLAS_INT incx);      \
  CUBLAS_FUNCTION(X##symv_v2)(cublasHandle_t handle, cublasFillMode_t uplo, CUBLAS_INT n, const T *alpha,    \
                              const T *A, CUBLAS_INT lda, const T *x, CUBLAS_INT incx, const T *beta, T *y,  \
                              CUBLAS_INT incy);                                                              \
  CUBLAS_FUNCTION(X##syr_v2)(cublasHandle_t handle, cublasFillMode_t uplo, CUBLAS_INT n, const T *alpha,     \
                             const T *x, CUBLAS_INT incx, T *A, CUBLAS_INT lda);                             \
  CUBLAS_FUNCTION(X##syr2_v2)(cublasHandle_t handle, cublasFillMode_t uplo, CUBLAS_INT n, const T *alpha,    \
                              const T *x, CUBLAS_INT incx, const T *y, CUBLAS_INT incy, T *A,                \
                              CUBLAS_INT lda);                                                               \
  CUBLAS_FUNCTION(X##gemm_v2)(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,     \
                              CUBLAS_INT m, CUBLAS_INT n, CUBLAS_INT k, const T *alpha, const T *A,          \
                              CUBLAS_INT lda, const T *B, CUBLAS_INT ldb, const T *beta, T *C,               \
                              CUBLAS_INT ldc);                                                               \
  CUBLAS_FUNCTION(X##gemmBatched)(                                                                           \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, CUBLAS_INT m, CUBLAS_INT n, \
      CUBLAS_INT k, const T *alpha, const T *const *Aarray, CUBLAS_INT lda, const T *const *Barray,          \
      CUBLAS_INT ldb, const T *beta, T *const *Carray, CUBLAS_INT ldc, CUBLAS_INT batchCount);               \
  CUBLAS_FUNCTION(X##gemmStridedBatched)(                                                                    \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, CUBLAS_INT m, CUBLAS_INT n, \
      CUBLAS_INT k, const T *alpha, const T *A, CUBLAS_INT lda, long long int strideA, const T *B,           \
      CUBLAS_INT ldb, long long int strideB, const T *beta, T *C, CUBLAS_INT ldc, long long int strideC,     \
      CUBLAS_INT batchCount);                                                                                \
  CUBLAS_FUNCTION(X##symm_v2)(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,           \
                              CUBLAS_INT m, CUBLAS_INT n, const T *alpha, const T *A, CUBLAS_INT lda,        \
                              const T *B, CUBLAS_INT ldb, const T *beta, T *C, CUBLAS_INT ldc);              \
  CUBLAS_FUNCTION(X##syrk_v2)(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,         \
                              CUBLAS_INT n, CUBLAS_INT k, const T *alpha, const T *A, CUBLAS_INT lda,        \
                              const T *beta, T *C, CUBLAS_INT ldc);                                          \
  CUBLAS_FUNCTION(X##syr2k_v2)(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,        \
                               CUBLAS_INT n, CUBLAS_INT k, const T *alpha, const T *A, CUBLAS_INT lda,       \
                               const T *B, CUBLAS_INT ldb, const T *beta, T *C, CUBLAS_INT ldc);             \
  CUBLAS_FUNCTION(X##syrkx)(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,           \
                            CUBLAS_INT n, CUBLAS_INT k, const T *alpha, const T *A, CUBLAS_INT lda,          \
                            const T *B, CUBLAS_INT ldb, const T *beta, T *C, CUBLAS_INT ldc);                \
  CUBLAS_FUNCTION(X##trmm_v2)(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,           \
                              cublasOperation_t trans, cublasDiagType_t diag, CUBLAS_INT m, CUBLAS_INT n,    \
                              const T *alpha, const T *A, CUBLAS_INT lda, const T *B, CUBLAS_INT ldb, T *C,  \
                              CUBLAS_INT ldc);                                                               \
  CUBLAS_FUNCTION(X##trsm_v2)(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,           \
                              cublasOperation_t trans, cublasDiagType_t diag, CUBLAS_INT m, CUBLAS_INT n,    \
                              const T *alpha, const T *A, CUBLAS_INT lda, T *B, CUBLAS_INT ldb);             \
  CUBLAS_FUNCTION(X##trsmBatched)(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,       \
                                  cublasOperation_t trans, cublasDiagType_t diag, CUBLAS_INT m,              \
                                  CUBLAS_INT n, const T *alpha, const T *const *A, CUBLAS_INT lda,           \
                                  T *const *B, CUBLAS_INT ldb, CUBLAS_INT batchCount);                       \
  CUBLAS_FUNCTION(X##geam)(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,        \
                           CUBLAS_INT m, CUBLAS_INT n, const T *alpha, const T *A, CUBLAS_INT lda,           \
                           const T *beta, const T *B, CUBLAS_INT ldb, T *C, CUBLAS_INT ldc);                 \
  CUBLAS_FUNCTION(X##dgmm)(cublasHandle_t handle, cublasSideMode_t mode, CUBLAS_INT m, CUBLAS_INT n,         \
                           const T *A, CUBLAS_INT lda, const T *x, CUBLAS_INT incx, T *C, CUBLAS_INT ldc);

#define GPURACE_CUBLAS_REAL(X, T)                                                                            \
  CUBLAS_FUNCTION(X##dot_v2)(cublasHandle_t handle, CUBLAS_INT n, const T *x, CUBLAS_INT incx, const T *y,   \
                             CUBLAS_INT incy, T *result);                                                    \
  CUBLAS_FUNCTION(X##rotm_v2)(cublasHandle_t handle, CUBLAS_INT n, T * x, CUBLAS_INT incx, T * y,            \
                              CUBLAS_INT incy, const T *param);                                              \
  CUBLAS_FUNCTION(X##ger_v2)(cublasHandle_t handle, CUBLAS_INT m, CUBLAS_INT n, const T *alpha, const T *x,  \
                             CUBLAS_INT incx, const T *y, CUBLAS_INT incy, T *A, CUBLAS_INT lda);            \
  CUBLAS_FUNCTION(X##sbmv_v2)(cublasHandle_t handle, cublasFillMode_t uplo, CUBLAS_INT n, CUBLAS_INT k,      \
                              const T *alpha, const T *A, CUBLAS_INT lda, const T *x, CUBLAS_INT incx,       \
                              const T *beta, T *y, CUBLAS_INT incy);                                         \
  CUBLAS_FUNCTION(X##spmv_v2)(cublasHandle_t handle, cublasFillMode_t uplo, CUBLAS_INT n, const T *alpha,    \
                              const T *AP, const T *x, CUBLAS_INT incx, const T *beta, T *y,                 \
                              CUBLAS_INT incy);                                                              \
  CUBLAS_FUNCTION(X##spr_v2)(cublasHandle_t handle, cublasFillMode_t uplo, CUBLAS_INT n, const T *alpha,     \
                             const T *x, CUBLAS_INT incx, T *AP);                                            \
  CUBLAS_FUNCTION(X##spr2_v2)(cublasHandle_t handle, cublasFillMode_t uplo, CUBLAS_INT n, const T *alpha,    \
                              const T *x, CUBLAS_INT incx, const T *y, CUBLAS_INT incy, T *AP);              \
  CUBLAS_FUNCTION(X##gemmGroupedBatched)(                                                                    \
      cublasHandle_t handle, const cublasOperation_t *transa_array, const cublasOperation_t *transb_array,   \
      const CUBLAS_INT *m_array, const CUBLAS_INT *n_array, const CUBLAS_INT *k_array, const T *alpha_array, \
      const T *const *Aarray, const CUBLAS_INT *lda_array, const T *const *Barray,                           \
      const CUBLAS_INT *ldb_array, const T *beta_array, T *const *Carray, const CUBLAS_INT *ldc_array,       \
      CUBLAS_INT group_count, const CUBLAS_INT *group_size);

// `XR` names a function of complex vectors and real scalars.
#define GPURACE_CUBLAS_COMPLEX(X, T, R, XR)                                                                  \
  CUBLAS_FUNCTION(XR##scal_v2)(cublasHandle_t handle, CUBLAS_INT n, const R *alpha, T *x, CUBLAS_INT incx);  \
  CUBLAS_FUNCTION(XR##rot_v2)(cublasHandle_t handle, CUBLAS_INT n, T * x, CUBLAS_INT incx, T * y,            \
                              CUBLAS_INT incy, const R *c, const R *s);                                      \
  CUBLAS_FUNCTION(X##dotu_v2)(cublasHandle_t handle, CUBLAS_INT n, const T *x, CUBLAS_INT incx, const T *y,  \
                              CUBLAS_INT incy, T *result);                                                   \
  CUBLAS_FUNCTION(X##dotc_v2)(cublasHandle_t handle, CUBLAS_INT n, const T *x, CUBLAS_INT incx, const T *y,  \
                              CUBLAS_INT incy, T *result);                                                   \
  CUBLAS_FUNCTION(X##geru_v2)(cublasHandle_t handle, CUBLAS_INT m, CUBLAS_INT n, const T *alpha, const T *x, \
                              CUBLAS_INT incx, const T *y, CUBLAS_INT incy, T *A, CUBLAS_INT lda);           \
  CUBLAS_FUNCTION(X##gerc_v2)(cublasHandle_t handle, CUBLAS_INT m, CUBLAS_INT n, const T *alpha, const T *x, \
                              CUBLAS_INT incx, const T *y, CUBLAS_INT incy, T *A, CUBLAS_INT lda);           \
  CUBLAS_FUNCTION(X##hemv_v2)(cublasHandle_t handle, cublasFillMode_t uplo, CUBLAS_INT n, const T *alpha,    \
                              const T *A, CUBLAS_INT lda, const T *x, CUBLAS_INT incx, const T *beta, T *y,  \
                              CUBLAS_INT incy);                                                              \
  CUBLAS_FUNCTION(X##hbmv_v2)(cublasHandle_t handle, cublasFillMode_t uplo, CUBLAS_INT n, CUBLAS_INT k,      \
                              const T *alpha, const T *A, CUBLAS_INT lda, const T *x, CUBLAS_INT incx,       \
                              const T *beta, T *y, CUBLAS_INT incy);                                         \
  CUBLAS_FUNCTION(X##hpmv_v2)(cublasHandle_t handle, cublasFillMode_t uplo, CUBLAS_INT n, const T *alpha,    \
                              const T *AP, const T *x, CUBLAS_INT incx, const T *beta, T *y,                 \
                              CUBLAS_INT incy);                                                              \
  CUBLAS_FUNCTION(X##her_v2)(cublasHandle_t handle, cublasFillMode_t uplo, CUBLAS_INT n, const R *alpha,     \
                             const T *x, CUBLAS_INT incx, T *A, CUBLAS_INT lda);                             \
  CUBLAS_FUNCTION(X##hpr_v2)(cublasHandle_t handle, cublasFillMode_t uplo, CUBLAS_INT n, const R *alpha,     \
                             const T *x, CUBLAS_INT incx, T *AP);                                            \
  CUBLAS_FUNCTION(X##her2_v2)(cublasHandle_t handle, cublasFillMode_t uplo, CUBLAS_INT n, const T *alpha,    \
                              const T *x, CUBLAS_INT incx, const T *y, CUBLAS_INT incy, T *A,                \
                              CUBLAS_INT lda);                                                               \
  CUBLAS_FUNCTION(X##hpr2_v2)(cublasHandle_t handle, cublasFillMode_t uplo, CUBLAS_INT n, const T *alpha,    \
                              const T *x, CUBLAS_INT incx, const T *y, CUBLAS_INT incy, T *AP);              \
  CUBLAS_FUNCTION(X##gemm3m)(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,      \
                             CUBLAS_INT m, CUBLAS_INT n, CUBLAS_INT k, const T *alpha, const T *A,           \
                             CUBLAS_INT lda, const T *B, CUBLAS_INT ldb, const T *beta, T *C,                \
                             CUBLAS_INT ldc);                                                                \
  CUBLAS_FUNCTION(X##hemm_v2)(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,           \
                              CUBLAS_INT m, CUBLAS_INT n, const T *alpha, const T *A, CUBLAS_INT lda,        \
                              const T *B, CUBLAS_INT ldb, const T *beta, T *C, CUBLAS_INT ldc);              \
  CUBLAS_FUNCTION(X##herk_v2)(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,         \
                              CUBLAS_INT n, CUBLAS_INT k, const R *alpha, const T *A, CUBLAS_INT lda,        \
                              const R *beta, T *C, CUBLAS_INT ldc);                                          \
  CUBLAS_FUNCTION(X##her2k_v2)(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,        \
                               CUBLAS_INT n, CUBLAS_INT k, const T *alpha, const T *A, CUBLAS_INT lda,       \
                               const T *B, CUBLAS_INT ldb, const R *beta, T *C, CUBLAS_INT ldc);             \
  CUBLAS_FUNCTION(X##herkx)(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,           \
                            CUBLAS_INT n, CUBLAS_INT k, const T *alpha, const T *A, CUBLAS_INT lda,          \
                            const T *B, CUBLAS_INT ldb, const R *beta, T *C, CUBLAS_INT ldc);

GPURACE_CUBLAS(S, float, float, s, S)
GPURACE_CUBLAS(D, double, double, d, D)
GPURACE_CUBLAS(C, cuComplex, float, c, Sc)
GPURACE_CUBLAS(Z, cuDoubleComplex, double, z, Dz)
GPURACE_CUBLAS_REAL(S, float)
GPURACE_CUBLAS_REAL(D, double)
GPURACE_CUBLAS_COMPLEX(C, cuComplex, float, Cs)
GPURACE_CUBLAS_COMPLEX(Z, cuDoubleComplex, double, Zd)

#undef GPURACE_CUBLAS
#undef GPURACE_CUBLAS_REAL
#undef GPURACE_CUBLAS_COMPLEX
