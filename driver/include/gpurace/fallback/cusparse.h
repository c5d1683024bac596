// cuSPARSE's interface, for programs that gpurace runs on the host. Used only if the toolkit has no header of
// this name: gclang searches this folder last. The functions are in libgpurace_sparse.so; docs/libraries.md
// lists them.
// Programs ask whether this is defined.
#ifndef CUSPARSE_H_
#define CUSPARSE_H_

#include "gpurace_cusparse/descriptors.h"

#if defined(__cplusplus)
extern "C" {
#endif

// What NVIDIA's library logs. These do nothing.

typedef void (*cusparseLoggerCallback_t)(int level, const char *function, const char *message);
cusparseStatus_t CUSPARSEAPI cusparseLoggerSetCallback(cusparseLoggerCallback_t callback);
cusparseStatus_t CUSPARSEAPI cusparseLoggerSetFile(FILE *file);
cusparseStatus_t CUSPARSEAPI cusparseLoggerOpenFile(const char *path);
cusparseStatus_t CUSPARSEAPI cusparseLoggerSetLevel(int level);
cusparseStatus_t CUSPARSEAPI cusparseLoggerSetMask(int mask);
cusparseStatus_t CUSPARSEAPI cusparseLoggerForceDisable(void);

// Sparse vectors with dense ones.

cusparseStatus_t CUSPARSEAPI cusparseAxpby(cusparseHandle_t handle, const void *alpha,
                                           cusparseConstSpVecDescr_t x, const void *beta,
                                           cusparseDnVecDescr_t y);
cusparseStatus_t CUSPARSEAPI cusparseGather(cusparseHandle_t handle, cusparseConstDnVecDescr_t y,
                                            cusparseSpVecDescr_t x);
cusparseStatus_t CUSPARSEAPI cusparseScatter(cusparseHandle_t handle, cusparseConstSpVecDescr_t x,
                                             cusparseDnVecDescr_t y);
cusparseStatus_t CUSPARSEAPI cusparseSpVV_bufferSize(cusparseHandle_t handle, cusparseOperation_t op,
                                                     cusparseConstSpVecDescr_t x, cusparseConstDnVecDescr_t y,
                                                     const void *result, cudaDataType type, size_t *size);
cusparseStatus_t CUSPARSEAPI cusparseSpVV(cusparseHandle_t handle, cusparseOperation_t op,
                                          cusparseConstSpVecDescr_t x, cusparseConstDnVecDescr_t y,
                                          void *result, cudaDataType type, void *buffer);

// Sparse matrices with dense ones.

cusparseStatus_t CUSPARSEAPI cusparseSpMV_bufferSize(cusparseHandle_t handle, cusparseOperation_t op,
                                                     const void *alpha, cusparseConstSpMatDescr_t a,
                                                     cusparseConstDnVecDescr_t x, const void *beta,
                                                     cusparseDnVecDescr_t y, cudaDataType type,
                                                     cusparseSpMVAlg_t alg, size_t *size);
cusparseStatus_t CUSPARSEAPI cusparseSpMV_preprocess(cusparseHandle_t handle, cusparseOperation_t op,
                                                     const void *alpha, cusparseConstSpMatDescr_t a,
                                                     cusparseConstDnVecDescr_t x, const void *beta,
                                                     cusparseDnVecDescr_t y, cudaDataType type,
                                                     cusparseSpMVAlg_t alg, void *buffer);
cusparseStatus_t CUSPARSEAPI cusparseSpMV(cusparseHandle_t handle, cusparseOperation_t op, const void *alpha,
                                          cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x,
                                          const void *beta, cusparseDnVecDescr_t y, cudaDataType type,
                                          cusparseSpMVAlg_t alg, void *buffer);
cusparseStatus_t CUSPARSEAPI cusparseSpMM_bufferSize(cusparseHandle_t handle, cusparseOperation_t opA,
                                                     cusparseOperation_t opB, const void *alpha,
                                                     cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                                     const void *beta, cusparseDnMatDescr_t c,
                                                     cudaDataType type, cusparseSpMMAlg_t alg, size_t *size);
cusparseStatus_t CUSPARSEAPI cusparseSpMM_preprocess(cusparseHandle_t handle, cusparseOperation_t opA,
                                                     cusparseOperation_t opB, const void *alpha,
                                                     cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                                     const void *beta, cusparseDnMatDescr_t c,
                                                     cudaDataType type, cusparseSpMMAlg_t alg, void *buffer);
cusparseStatus_t CUSPARSEAPI cusparseSpMM(cusparseHandle_t handle, cusparseOperation_t opA,
                                          cusparseOperation_t opB, const void *alpha,
                                          cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                          const void *beta, cusparseDnMatDescr_t c, cudaDataType type,
                                          cusparseSpMMAlg_t alg, void *buffer);
cusparseStatus_t CUSPARSEAPI cusparseSDDMM_bufferSize(cusparseHandle_t handle, cusparseOperation_t opA,
                                                      cusparseOperation_t opB, const void *alpha,
                                                      cusparseConstDnMatDescr_t a,
                                                      cusparseConstDnMatDescr_t b, const void *beta,
                                                      cusparseSpMatDescr_t c, cudaDataType type,
                                                      cusparseSDDMMAlg_t alg, size_t *size);
cusparseStatus_t CUSPARSEAPI cusparseSDDMM_preprocess(cusparseHandle_t handle, cusparseOperation_t opA,
                                                      cusparseOperation_t opB, const void *alpha,
                                                      cusparseConstDnMatDescr_t a,
                                                      cusparseConstDnMatDescr_t b, const void *beta,
                                                      cusparseSpMatDescr_t c, cudaDataType type,
                                                      cusparseSDDMMAlg_t alg, void *buffer);
cusparseStatus_t CUSPARSEAPI cusparseSDDMM(cusparseHandle_t handle, cusparseOperation_t opA,
                                           cusparseOperation_t opB, const void *alpha,
                                           cusparseConstDnMatDescr_t a, cusparseConstDnMatDescr_t b,
                                           const void *beta, cusparseSpMatDescr_t c, cudaDataType type,
                                           cusparseSDDMMAlg_t alg, void *buffer);

// Triangular systems.

cusparseStatus_t CUSPARSEAPI cusparseSpSV_createDescr(cusparseSpSVDescr_t *descr);
cusparseStatus_t CUSPARSEAPI cusparseSpSV_destroyDescr(cusparseSpSVDescr_t descr);
cusparseStatus_t CUSPARSEAPI cusparseSpSV_bufferSize(cusparseHandle_t handle, cusparseOperation_t op,
                                                     const void *alpha, cusparseConstSpMatDescr_t a,
                                                     cusparseConstDnVecDescr_t x, cusparseDnVecDescr_t y,
                                                     cudaDataType type, cusparseSpSVAlg_t alg,
                                                     cusparseSpSVDescr_t descr, size_t *size);
cusparseStatus_t CUSPARSEAPI cusparseSpSV_analysis(cusparseHandle_t handle, cusparseOperation_t op,
                                                   const void *alpha, cusparseConstSpMatDescr_t a,
                                                   cusparseConstDnVecDescr_t x, cusparseDnVecDescr_t y,
                                                   cudaDataType type, cusparseSpSVAlg_t alg,
                                                   cusparseSpSVDescr_t descr, void *buffer);
cusparseStatus_t CUSPARSEAPI cusparseSpSV_solve(cusparseHandle_t handle, cusparseOperation_t op,
                                                const void *alpha, cusparseConstSpMatDescr_t a,
                                                cusparseConstDnVecDescr_t x, cusparseDnVecDescr_t y,
                                                cudaDataType type, cusparseSpSVAlg_t alg,
                                                cusparseSpSVDescr_t descr);
cusparseStatus_t CUSPARSEAPI cusparseSpSV_updateMatrix(cusparseHandle_t handle, cusparseSpSVDescr_t descr,
                                                       void *values, cusparseSpSVUpdate_t part);
cusparseStatus_t CUSPARSEAPI cusparseSpSM_createDescr(cusparseSpSMDescr_t *descr);
cusparseStatus_t CUSPARSEAPI cusparseSpSM_destroyDescr(cusparseSpSMDescr_t descr);
cusparseStatus_t CUSPARSEAPI cusparseSpSM_bufferSize(cusparseHandle_t handle, cusparseOperation_t opA,
                                                     cusparseOperation_t opB, const void *alpha,
                                                     cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                                     cusparseDnMatDescr_t c, cudaDataType type,
                                                     cusparseSpSMAlg_t alg, cusparseSpSMDescr_t descr,
                                                     size_t *size);
cusparseStatus_t CUSPARSEAPI cusparseSpSM_analysis(cusparseHandle_t handle, cusparseOperation_t opA,
                                                   cusparseOperation_t opB, const void *alpha,
                                                   cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                                   cusparseDnMatDescr_t c, cudaDataType type,
                                                   cusparseSpSMAlg_t alg, cusparseSpSMDescr_t descr,
                                                   void *buffer);
cusparseStatus_t CUSPARSEAPI cusparseSpSM_solve(cusparseHandle_t handle, cusparseOperation_t opA,
                                                cusparseOperation_t opB, const void *alpha,
                                                cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                                cusparseDnMatDescr_t c, cudaDataType type,
                                                cusparseSpSMAlg_t alg, cusparseSpSMDescr_t descr);
cusparseStatus_t CUSPARSEAPI cusparseSpSM_updateMatrix(cusparseHandle_t handle, cusparseSpSMDescr_t descr,
                                                       void *values, cusparseSpSMUpdate_t part);

// Products of sparse matrices.

cusparseStatus_t CUSPARSEAPI cusparseSpGEMM_createDescr(cusparseSpGEMMDescr_t *descr);
cusparseStatus_t CUSPARSEAPI cusparseSpGEMM_destroyDescr(cusparseSpGEMMDescr_t descr);
cusparseStatus_t CUSPARSEAPI cusparseSpGEMM_workEstimation(
    cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB, const void *alpha,
    cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b, const void *beta, cusparseSpMatDescr_t c,
    cudaDataType type, cusparseSpGEMMAlg_t alg, cusparseSpGEMMDescr_t descr, size_t *size, void *buffer);
cusparseStatus_t CUSPARSEAPI cusparseSpGEMM_compute(cusparseHandle_t handle, cusparseOperation_t opA,
                                                    cusparseOperation_t opB, const void *alpha,
                                                    cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b,
                                                    const void *beta, cusparseSpMatDescr_t c,
                                                    cudaDataType type, cusparseSpGEMMAlg_t alg,
                                                    cusparseSpGEMMDescr_t descr, size_t *size, void *buffer);
cusparseStatus_t CUSPARSEAPI cusparseSpGEMM_copy(cusparseHandle_t handle, cusparseOperation_t opA,
                                                 cusparseOperation_t opB, const void *alpha,
                                                 cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b,
                                                 const void *beta, cusparseSpMatDescr_t c, cudaDataType type,
                                                 cusparseSpGEMMAlg_t alg, cusparseSpGEMMDescr_t descr);

// Between dense and sparse matrices.

cusparseStatus_t CUSPARSEAPI cusparseSparseToDense_bufferSize(cusparseHandle_t handle,
                                                              cusparseConstSpMatDescr_t a,
                                                              cusparseDnMatDescr_t b,
                                                              cusparseSparseToDenseAlg_t alg, size_t *size);
cusparseStatus_t CUSPARSEAPI cusparseSparseToDense(cusparseHandle_t handle, cusparseConstSpMatDescr_t a,
                                                   cusparseDnMatDescr_t b, cusparseSparseToDenseAlg_t alg,
                                                   void *buffer);
cusparseStatus_t CUSPARSEAPI cusparseDenseToSparse_bufferSize(cusparseHandle_t handle,
                                                              cusparseConstDnMatDescr_t a,
                                                              cusparseSpMatDescr_t b,
                                                              cusparseDenseToSparseAlg_t alg, size_t *size);
cusparseStatus_t CUSPARSEAPI cusparseDenseToSparse_analysis(cusparseHandle_t handle,
                                                            cusparseConstDnMatDescr_t a,
                                                            cusparseSpMatDescr_t b,
                                                            cusparseDenseToSparseAlg_t alg, void *buffer);
cusparseStatus_t CUSPARSEAPI cusparseDenseToSparse_convert(cusparseHandle_t handle,
                                                           cusparseConstDnMatDescr_t a,
                                                           cusparseSpMatDescr_t b,
                                                           cusparseDenseToSparseAlg_t alg, void *buffer);

// The older interface.

cusparseStatus_t CUSPARSEAPI cusparseCreateMatDescr(cusparseMatDescr_t *a);
cusparseStatus_t CUSPARSEAPI cusparseDestroyMatDescr(cusparseMatDescr_t a);
cusparseStatus_t CUSPARSEAPI cusparseSetMatType(cusparseMatDescr_t a, cusparseMatrixType_t value);
cusparseMatrixType_t CUSPARSEAPI cusparseGetMatType(const cusparseMatDescr_t a);
cusparseStatus_t CUSPARSEAPI cusparseSetMatFillMode(cusparseMatDescr_t a, cusparseFillMode_t value);
cusparseFillMode_t CUSPARSEAPI cusparseGetMatFillMode(const cusparseMatDescr_t a);
cusparseStatus_t CUSPARSEAPI cusparseSetMatDiagType(cusparseMatDescr_t a, cusparseDiagType_t value);
cusparseDiagType_t CUSPARSEAPI cusparseGetMatDiagType(const cusparseMatDescr_t a);
cusparseStatus_t CUSPARSEAPI cusparseSetMatIndexBase(cusparseMatDescr_t a, cusparseIndexBase_t value);
cusparseIndexBase_t CUSPARSEAPI cusparseGetMatIndexBase(const cusparseMatDescr_t a);
cusparseStatus_t CUSPARSEAPI cusparseSnnz(cusparseHandle_t handle, cusparseDirection_t direction, int m,
                                          int n, const cusparseMatDescr_t a, const float *values, int lda,
                                          int *counts, int *total);
cusparseStatus_t CUSPARSEAPI cusparseDnnz(cusparseHandle_t handle, cusparseDirection_t direction, int m,
                                          int n, const cusparseMatDescr_t a, const double *values, int lda,
                                          int *counts, int *total);
cusparseStatus_t CUSPARSEAPI cusparseCreateIdentityPermutation(cusparseHandle_t handle, int n, int *p);
cusparseStatus_t CUSPARSEAPI cusparseXcsrsort_bufferSizeExt(cusparseHandle_t handle, int m, int n, int nnz,
                                                            const int *rowOffsets, const int *colIndices,
                                                            size_t *size);
cusparseStatus_t CUSPARSEAPI cusparseXcsrsort(cusparseHandle_t handle, int m, int n, int nnz,
                                              const cusparseMatDescr_t a, const int *rowOffsets,
                                              int *colIndices, int *p, void *buffer);
cusparseStatus_t CUSPARSEAPI cusparseXcoosort_bufferSizeExt(cusparseHandle_t handle, int m, int n, int nnz,
                                                            const int *rows, const int *cols, size_t *size);
cusparseStatus_t CUSPARSEAPI cusparseXcoosortByRow(cusparseHandle_t handle, int m, int n, int nnz, int *rows,
                                                   int *cols, int *p, void *buffer);
cusparseStatus_t CUSPARSEAPI cusparseXcoosortByColumn(cusparseHandle_t handle, int m, int n, int nnz,
                                                      int *rows, int *cols, int *p, void *buffer);
cusparseStatus_t CUSPARSEAPI cusparseXcoo2csr(cusparseHandle_t handle, const int *rows, int nnz, int m,
                                              int *rowOffsets, cusparseIndexBase_t base);
cusparseStatus_t CUSPARSEAPI cusparseXcsr2coo(cusparseHandle_t handle, const int *rowOffsets, int nnz, int m,
                                              int *rows, cusparseIndexBase_t base);
cusparseStatus_t CUSPARSEAPI cusparseCsr2cscEx2_bufferSize(
    cusparseHandle_t handle, int m, int n, int nnz, const void *values, const int *rowOffsets,
    const int *colIndices, void *toValues, int *colOffsets, int *rowIndices, cudaDataType type,
    cusparseAction_t copyValues, cusparseIndexBase_t base, cusparseCsr2CscAlg_t alg, size_t *size);
cusparseStatus_t CUSPARSEAPI cusparseCsr2cscEx2(cusparseHandle_t handle, int m, int n, int nnz,
                                                const void *values, const int *rowOffsets,
                                                const int *colIndices, void *toValues, int *colOffsets,
                                                int *rowIndices, cudaDataType type,
                                                cusparseAction_t copyValues, cusparseIndexBase_t base,
                                                cusparseCsr2CscAlg_t alg, void *buffer);
cusparseStatus_t CUSPARSEAPI cusparseCreateCsrilu02Info(csrilu02Info_t *info);
cusparseStatus_t CUSPARSEAPI cusparseDestroyCsrilu02Info(csrilu02Info_t info);
cusparseStatus_t CUSPARSEAPI cusparseXcsrilu02_zeroPivot(cusparseHandle_t handle, csrilu02Info_t info,
                                                         int *position);
// `T` is the type, and `X` its letter.
#define GPURACE_CUSPARSE(X, T)                                                                               \
  cusparseStatus_t CUSPARSEAPI cusparse##X##csrilu02_bufferSize(                                             \
      cusparseHandle_t handle, int m, int nnz, const cusparseMatDescr_t a, T *values, const int *rowOffsets, \
      const int *colIndices, csrilu02Info_t info, int *size);                                                \
  cusparseStatus_t CUSPARSEAPI cusparse##X##csrilu02_analysis(                                               \
      cusparseHandle_t handle, int m, int nnz, const cusparseMatDescr_t a, const T *values,                  \
      const int *rowOffsets, const int *colIndices, csrilu02Info_t info, cusparseSolvePolicy_t policy,       \
      void *buffer);                                                                                         \
  cusparseStatus_t CUSPARSEAPI cusparse##X##csrilu02(                                                        \
      cusparseHandle_t handle, int m, int nnz, const cusparseMatDescr_t a, T *values, const int *rowOffsets, \
      const int *colIndices, csrilu02Info_t info, cusparseSolvePolicy_t policy, void *buffer);

GPURACE_CUSPARSE(S, float)
GPURACE_CUSPARSE(D, double)
GPURACE_CUSPARSE(C, cuComplex)
GPURACE_CUSPARSE(Z, cuDoubleComplex)
#undef GPURACE_CUSPARSE

#if defined(__cplusplus)
}
#endif

#endif
