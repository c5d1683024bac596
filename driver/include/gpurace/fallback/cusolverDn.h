// cuSOLVER's interface for dense matrices, for programs that gpurace runs on the host. Used only if the
// toolkit has no header of this name: gclang searches this folder last. The functions are in
// libgpurace_solver.so; docs/libraries.md lists them.
#ifndef CUSOLVERDN_H_
#define CUSOLVERDN_H_

#include <driver_types.h>

#include "cuComplex.h"
#include "cublas_v2.h"
#include "cusolver_common.h"

#if defined(__cplusplus)
extern "C" {
#endif

typedef struct cusolverDnContext *cusolverDnHandle_t;
typedef struct syevjInfo *syevjInfo_t;
typedef struct gesvdjInfo *gesvdjInfo_t;
typedef struct cusolverDnParams *cusolverDnParams_t;

typedef enum { CUSOLVERDN_GETRF = 0, CUSOLVERDN_POTRF = 1, CUSOLVERDN_SYEVBATCHED = 2 } cusolverDnFunction_t;

typedef enum {
  CUSOLVER_DETERMINISTIC_RESULTS = 1,
  CUSOLVER_ALLOW_NON_DETERMINISTIC_RESULTS = 2
} cusolverDeterministicMode_t;

// Handles and parameters.

cusolverStatus_t CUSOLVERAPI cusolverDnCreate(cusolverDnHandle_t *handle);
cusolverStatus_t CUSOLVERAPI cusolverDnDestroy(cusolverDnHandle_t handle);
cusolverStatus_t CUSOLVERAPI cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream);
cusolverStatus_t CUSOLVERAPI cusolverDnGetStream(cusolverDnHandle_t handle, cudaStream_t *stream);
cusolverStatus_t CUSOLVERAPI cusolverDnSetDeterministicMode(cusolverDnHandle_t handle,
                                                            cusolverDeterministicMode_t mode);
cusolverStatus_t CUSOLVERAPI cusolverDnGetDeterministicMode(cusolverDnHandle_t handle,
                                                            cusolverDeterministicMode_t *mode);
cusolverStatus_t CUSOLVERAPI cusolverDnCreateParams(cusolverDnParams_t *params);
cusolverStatus_t CUSOLVERAPI cusolverDnDestroyParams(cusolverDnParams_t params);
cusolverStatus_t CUSOLVERAPI cusolverDnSetAdvOptions(cusolverDnParams_t params, cusolverDnFunction_t function,
                                                     cusolverAlgMode_t algorithm);
cusolverStatus_t CUSOLVERAPI cusolverDnCreateSyevjInfo(syevjInfo_t *info);
cusolverStatus_t CUSOLVERAPI cusolverDnCreateGesvdjInfo(gesvdjInfo_t *info);
cusolverStatus_t CUSOLVERAPI cusolverDnDestroySyevjInfo(syevjInfo_t info);
cusolverStatus_t CUSOLVERAPI cusolverDnDestroyGesvdjInfo(gesvdjInfo_t info);
cusolverStatus_t CUSOLVERAPI cusolverDnXsyevjSetTolerance(syevjInfo_t info, double tolerance);
cusolverStatus_t CUSOLVERAPI cusolverDnXgesvdjSetTolerance(gesvdjInfo_t info, double tolerance);
cusolverStatus_t CUSOLVERAPI cusolverDnXsyevjSetMaxSweeps(syevjInfo_t info, int sweeps);
cusolverStatus_t CUSOLVERAPI cusolverDnXgesvdjSetMaxSweeps(gesvdjInfo_t info, int sweeps);
cusolverStatus_t CUSOLVERAPI cusolverDnXsyevjSetSortEig(syevjInfo_t info, int sort);
cusolverStatus_t CUSOLVERAPI cusolverDnXgesvdjSetSortEig(gesvdjInfo_t info, int sort_svd);
cusolverStatus_t CUSOLVERAPI cusolverDnXsyevjGetResidual(cusolverDnHandle_t handle, syevjInfo_t info,
                                                         double *residual);
cusolverStatus_t CUSOLVERAPI cusolverDnXgesvdjGetResidual(cusolverDnHandle_t handle, gesvdjInfo_t info,
                                                          double *residual);
cusolverStatus_t CUSOLVERAPI cusolverDnXsyevjGetSweeps(cusolverDnHandle_t handle, syevjInfo_t info,
                                                       int *sweeps);
cusolverStatus_t CUSOLVERAPI cusolverDnXgesvdjGetSweeps(cusolverDnHandle_t handle, gesvdjInfo_t info,
                                                        int *sweeps);

// What there is for each type of numbers T, with parts of the type R.

#define GPURACE_CUSOLVER(X, HE, UN, T, R)                                                                    \
  cusolverStatus_t CUSOLVERAPI cusolverDn##X##getrf_bufferSize(cusolverDnHandle_t handle, int m, int n,      \
                                                               T *a, int lda, int *size);                    \
  cusolverStatus_t CUSOLVERAPI cusolverDn##X##getrf(cusolverDnHandle_t handle, int m, int n, T *a, int lda,  \
                                                    T *work, int *pivots, int *info);                        \
  cusolverStatus_t CUSOLVERAPI cusolverDn##X##getrs(cusolverDnHandle_t handle, cublasOperation_t op, int n,  \
                                                    int columns, const T *a, int lda, const int *pivots,     \
                                                    T *b, int ldb, int *info);                               \
  cusolverStatus_t CUSOLVERAPI cusolverDn##X##geqrf_bufferSize(cusolverDnHandle_t handle, int m, int n,      \
                                                               T *a, int lda, int *size);                    \
  cusolverStatus_t CUSOLVERAPI cusolverDn##X##geqrf(cusolverDnHandle_t handle, int m, int n, T *a, int lda,  \
                                                    T *tau, T *work, int size, int *info);                   \
  cusolverStatus_t CUSOLVERAPI cusolverDn##UN##gqr_bufferSize(                                               \
      cusolverDnHandle_t handle, int m, int n, int k, const T *a, int lda, const T *tau, int *size);         \
  cusolverStatus_t CUSOLVERAPI cusolverDn##UN##gqr(cusolverDnHandle_t handle, int m, int n, int k, T *a,     \
                                                   int lda, const T *tau, T *work, int size, int *info);     \
  cusolverStatus_t CUSOLVERAPI cusolverDn##UN##mqr_bufferSize(                                               \
      cusolverDnHandle_t handle, cublasSideMode_t side, cublasOperation_t op, int m, int n, int k,           \
      const T *a, int lda, const T *tau, const T *c, int ldc, int *size);                                    \
  cusolverStatus_t CUSOLVERAPI cusolverDn##UN##mqr(                                                          \
      cusolverDnHandle_t handle, cublasSideMode_t side, cublasOperation_t op, int m, int n, int k,           \
      const T *a, int lda, const T *tau, T *c, int ldc, T *work, int size, int *info);                       \
  cusolverStatus_t CUSOLVERAPI cusolverDn##X##gesvd_bufferSize(cusolverDnHandle_t handle, int m, int n,      \
                                                               int *size);                                   \
  cusolverStatus_t CUSOLVERAPI cusolverDn##X##gesvd(                                                         \
      cusolverDnHandle_t handle, signed char job_u, signed char job_v, int m, int n, T *a, int lda,          \
      R *values, T *u, int ldu, T *v, int ldv, T *work, int size, R *real_work, int *info);                  \
  cusolverStatus_t CUSOLVERAPI cusolverDn##X##gesvdj_bufferSize(                                             \
      cusolverDnHandle_t handle, cusolverEigMode_t mode, int thin, int m, int n, const T *a, int lda,        \
      const R *values, const T *u, int ldu, const T *v, int ldv, int *size, gesvdjInfo_t params);            \
  cusolverStatus_t CUSOLVERAPI cusolverDn##X##gesvdj(                                                        \
      cusolverDnHandle_t handle, cusolverEigMode_t mode, int thin, int m, int n, T *a, int lda, R *values,   \
      T *u, int ldu, T *v, int ldv, T *work, int size, int *info, gesvdjInfo_t params);                      \
  cusolverStatus_t CUSOLVERAPI cusolverDn##X##gesvdjBatched_bufferSize(                                      \
      cusolverDnHandle_t handle, cusolverEigMode_t mode, int m, int n, const T *a, int lda, const R *values, \
      const T *u, int ldu, const T *v, int ldv, int *size, gesvdjInfo_t params, int batches);                \
  cusolverStatus_t CUSOLVERAPI cusolverDn##X##gesvdjBatched(                                                 \
      cusolverDnHandle_t handle, cusolverEigMode_t mode, int m, int n, T *a, int lda, R *values, T *u,       \
      int ldu, T *v, int ldv, T *work, int size, int *info, gesvdjInfo_t params, int batches);               \
  cusolverStatus_t CUSOLVERAPI cusolverDn##X##potrf_bufferSize(                                              \
      cusolverDnHandle_t handle, cublasFillMode_t fill, int n, T *a, int lda, int *size);                    \
  cusolverStatus_t CUSOLVERAPI cusolverDn##X##potrf(cusolverDnHandle_t handle, cublasFillMode_t fill, int n, \
                                                    T *a, int lda, T *work, int size, int *info);            \
  cusolverStatus_t CUSOLVERAPI cusolverDn##X##potrs(cusolverDnHandle_t handle, cublasFillMode_t fill, int n, \
                                                    int columns, const T *a, int lda, T *b, int ldb,         \
                                                    int *info);                                              \
  cusolverStatus_t CUSOLVERAPI cusolverDn##X##potri_bufferSize(                                              \
      cusolverDnHandle_t handle, cublasFillMode_t fill, int n, T *a, int lda, int *size);                    \
  cusolverStatus_t CUSOLVERAPI cusolverDn##X##potri(cusolverDnHandle_t handle, cublasFillMode_t fill, int n, \
                                                    T *a, int lda, T *work, int size, int *info);            \
  cusolverStatus_t CUSOLVERAPI cusolverDn##X##potrfBatched(cusolverDnHandle_t handle, cublasFillMode_t fill, \
                                                           int n, T **a, int lda, int *infos, int batches);  \
  cusolverStatus_t CUSOLVERAPI cusolverDn##X##potrsBatched(cusolverDnHandle_t handle, cublasFillMode_t fill, \
                                                           int n, int columns, T **a, int lda, T **b,        \
                                                           int ldb, int *info, int batches);                 \
  cusolverStatus_t CUSOLVERAPI cusolverDn##HE##evd_bufferSize(                                               \
      cusolverDnHandle_t handle, cusolverEigMode_t mode, cublasFillMode_t fill, int n, const T *a, int lda,  \
      const R *values, int *size);                                                                           \
  cusolverStatus_t CUSOLVERAPI cusolverDn##HE##evd(cusolverDnHandle_t handle, cusolverEigMode_t mode,        \
                                                   cublasFillMode_t fill, int n, T *a, int lda, R *values,   \
                                                   T *work, int size, int *info);                            \
  cusolverStatus_t CUSOLVERAPI cusolverDn##HE##evj_bufferSize(                                               \
      cusolverDnHandle_t handle, cusolverEigMode_t mode, cublasFillMode_t fill, int n, const T *a, int lda,  \
      const R *values, int *size, syevjInfo_t params);                                                       \
  cusolverStatus_t CUSOLVERAPI cusolverDn##HE##evj(cusolverDnHandle_t handle, cusolverEigMode_t mode,        \
                                                   cublasFillMode_t fill, int n, T *a, int lda, R *values,   \
                                                   T *work, int size, int *info, syevjInfo_t params);        \
  cusolverStatus_t CUSOLVERAPI cusolverDn##HE##evjBatched_bufferSize(                                        \
      cusolverDnHandle_t handle, cusolverEigMode_t mode, cublasFillMode_t fill, int n, const T *a, int lda,  \
      const R *values, int *size, syevjInfo_t params, int batches);                                          \
  cusolverStatus_t CUSOLVERAPI cusolverDn##HE##evjBatched(                                                   \
      cusolverDnHandle_t handle, cusolverEigMode_t mode, cublasFillMode_t fill, int n, T *a, int lda,        \
      R *values, T *work, int size, int *info, syevjInfo_t params, int batches);                             \
  cusolverStatus_t CUSOLVERAPI cusolverDn##HE##gvd_bufferSize(                                               \
      cusolverDnHandle_t handle, cusolverEigType_t kind, cusolverEigMode_t mode, cublasFillMode_t fill,      \
      int n, const T *a, int lda, const T *b, int ldb, const R *values, int *size);                          \
  cusolverStatus_t CUSOLVERAPI cusolverDn##HE##gvd(                                                          \
      cusolverDnHandle_t handle, cusolverEigType_t kind, cusolverEigMode_t mode, cublasFillMode_t fill,      \
      int n, T *a, int lda, T *b, int ldb, R *values, T *work, int size, int *info);                         \
  cusolverStatus_t CUSOLVERAPI cusolverDn##HE##gvj_bufferSize(                                               \
      cusolverDnHandle_t handle, cusolverEigType_t kind, cusolverEigMode_t mode, cublasFillMode_t fill,      \
      int n, const T *a, int lda, const T *b, int ldb, const R *values, int *size, syevjInfo_t params);      \
  cusolverStatus_t CUSOLVERAPI cusolverDn##HE##gvj(                                                          \
      cusolverDnHandle_t handle, cusolverEigType_t kind, cusolverEigMode_t mode, cublasFillMode_t fill,      \
      int n, T *a, int lda, T *b, int ldb, R *values, T *work, int size, int *info, syevjInfo_t params)

GPURACE_CUSOLVER(S, Ssy, Sor, float, float);
GPURACE_CUSOLVER(D, Dsy, Dor, double, double);
GPURACE_CUSOLVER(C, Che, Cun, cuComplex, float);
GPURACE_CUSOLVER(Z, Zhe, Zun, cuDoubleComplex, double);
#undef GPURACE_CUSOLVER

// Sizes of 64 bits, and types as parameters.

cusolverStatus_t CUSOLVERAPI cusolverDnXgetrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                                         int64_t m, int64_t n, cudaDataType type_a,
                                                         const void *a, int64_t lda, cudaDataType type,
                                                         size_t *device_size, size_t *host_size);
cusolverStatus_t CUSOLVERAPI cusolverDnXgetrf(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m,
                                              int64_t n, cudaDataType type_a, void *a, int64_t lda,
                                              int64_t *pivots, cudaDataType type, void *device_buffer,
                                              size_t device_size, void *host_buffer, size_t host_size,
                                              int *info);
cusolverStatus_t CUSOLVERAPI cusolverDnXgetrs(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                              cublasOperation_t op, int64_t n, int64_t columns,
                                              cudaDataType type_a, const void *a, int64_t lda,
                                              const int64_t *pivots, cudaDataType type_b, void *b,
                                              int64_t ldb, int *info);
cusolverStatus_t CUSOLVERAPI cusolverDnXgeqrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                                         int64_t m, int64_t n, cudaDataType type_a,
                                                         const void *a, int64_t lda, cudaDataType type_tau,
                                                         const void *tau, cudaDataType type,
                                                         size_t *device_size, size_t *host_size);
cusolverStatus_t CUSOLVERAPI cusolverDnXgeqrf(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m,
                                              int64_t n, cudaDataType type_a, void *a, int64_t lda,
                                              cudaDataType type_tau, void *tau, cudaDataType type,
                                              void *device_buffer, size_t device_size, void *host_buffer,
                                              size_t host_size, int *info);
cusolverStatus_t CUSOLVERAPI cusolverDnXgesvd_bufferSize(
    cusolverDnHandle_t handle, cusolverDnParams_t params, signed char job_u, signed char job_v, int64_t m,
    int64_t n, cudaDataType type_a, const void *a, int64_t lda, cudaDataType type_values, const void *values,
    cudaDataType type_u, const void *u, int64_t ldu, cudaDataType type_v, const void *v, int64_t ldv,
    cudaDataType type, size_t *device_size, size_t *host_size);
cusolverStatus_t CUSOLVERAPI cusolverDnXgesvd(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                              signed char job_u, signed char job_v, int64_t m, int64_t n,
                                              cudaDataType type_a, void *a, int64_t lda,
                                              cudaDataType type_values, void *values, cudaDataType type_u,
                                              void *u, int64_t ldu, cudaDataType type_v, void *v, int64_t ldv,
                                              cudaDataType type, void *device_buffer, size_t device_size,
                                              void *host_buffer, size_t host_size, int *info);
cusolverStatus_t CUSOLVERAPI cusolverDnXpotrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                                         cublasFillMode_t fill, int64_t n,
                                                         cudaDataType type_a, const void *a, int64_t lda,
                                                         cudaDataType type, size_t *device_size,
                                                         size_t *host_size);
cusolverStatus_t CUSOLVERAPI cusolverDnXpotrf(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                              cublasFillMode_t fill, int64_t n, cudaDataType type_a, void *a,
                                              int64_t lda, cudaDataType type, void *device_buffer,
                                              size_t device_size, void *host_buffer, size_t host_size,
                                              int *info);
cusolverStatus_t CUSOLVERAPI cusolverDnXpotrs(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                              cublasFillMode_t fill, int64_t n, int64_t columns,
                                              cudaDataType type_a, const void *a, int64_t lda,
                                              cudaDataType type_b, void *b, int64_t ldb, int *info);
cusolverStatus_t CUSOLVERAPI cusolverDnXtrtri_bufferSize(cusolverDnHandle_t handle, cublasFillMode_t fill,
                                                         cublasDiagType_t diagonal, int64_t n,
                                                         cudaDataType type_a, void *a, int64_t lda,
                                                         size_t *device_size, size_t *host_size);
cusolverStatus_t CUSOLVERAPI cusolverDnXtrtri(cusolverDnHandle_t handle, cublasFillMode_t fill,
                                              cublasDiagType_t diagonal, int64_t n, cudaDataType type_a,
                                              void *a, int64_t lda, void *device_buffer, size_t device_size,
                                              void *host_buffer, size_t host_size, int *info);
cusolverStatus_t CUSOLVERAPI cusolverDnXsyevd_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                                         cusolverEigMode_t mode, cublasFillMode_t fill,
                                                         int64_t n, cudaDataType type_a, const void *a,
                                                         int64_t lda, cudaDataType type_values,
                                                         const void *values, cudaDataType type,
                                                         size_t *device_size, size_t *host_size);
cusolverStatus_t CUSOLVERAPI cusolverDnXsyevd(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                              cusolverEigMode_t mode, cublasFillMode_t fill, int64_t n,
                                              cudaDataType type_a, void *a, int64_t lda,
                                              cudaDataType type_values, void *values, cudaDataType type,
                                              void *device_buffer, size_t device_size, void *host_buffer,
                                              size_t host_size, int *info);

#if defined(__cplusplus)
}
#endif

#endif
