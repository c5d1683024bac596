// Part of cublas_api.h, which includes this file twice: for the functions with sizes of type `int`, and for
// their variants with 64-bit sizes. CUBLAS_INT is the type, CUBLAS_FUNCTION begins a declaration.
#include "of_each_type.h"

// Functions of any type, and of one type.
CUBLAS_FUNCTION(GetVector)(CUBLAS_INT n, CUBLAS_INT elemSize, const void *x, CUBLAS_INT incx, void *y,
                           CUBLAS_INT incy);
CUBLAS_FUNCTION(SetVector)(CUBLAS_INT n, CUBLAS_INT elemSize, const void *x, CUBLAS_INT incx, void *devicePtr,
                           CUBLAS_INT incy);
CUBLAS_FUNCTION(GetVectorAsync)(CUBLAS_INT n, CUBLAS_INT elemSize, const void *devicePtr, CUBLAS_INT incx,
                                void *hostPtr, CUBLAS_INT incy, cudaStream_t stream);
CUBLAS_FUNCTION(SetVectorAsync)(CUBLAS_INT n, CUBLAS_INT elemSize, const void *hostPtr, CUBLAS_INT incx,
                                void *devicePtr, CUBLAS_INT incy, cudaStream_t stream);
CUBLAS_FUNCTION(GetMatrix)(CUBLAS_INT rows, CUBLAS_INT cols, CUBLAS_INT elemSize, const void *A,
                           CUBLAS_INT lda, void *B, CUBLAS_INT ldb);
CUBLAS_FUNCTION(SetMatrix)(CUBLAS_INT rows, CUBLAS_INT cols, CUBLAS_INT elemSize, const void *A,
                           CUBLAS_INT lda, void *B, CUBLAS_INT ldb);
CUBLAS_FUNCTION(GetMatrixAsync)(CUBLAS_INT rows, CUBLAS_INT cols, CUBLAS_INT elemSize, const void *A,
                                CUBLAS_INT lda, void *B, CUBLAS_INT ldb, cudaStream_t stream);
CUBLAS_FUNCTION(SetMatrixAsync)(CUBLAS_INT rows, CUBLAS_INT cols, CUBLAS_INT elemSize, const void *A,
                                CUBLAS_INT lda, void *B, CUBLAS_INT ldb, cudaStream_t stream);
CUBLAS_FUNCTION(CopyEx)(cublasHandle_t handle, CUBLAS_INT n, const void *x, cudaDataType xType,
                        CUBLAS_INT incx, void *y, cudaDataType yType, CUBLAS_INT incy);
CUBLAS_FUNCTION(SwapEx)(cublasHandle_t handle, CUBLAS_INT n, void *x, cudaDataType xType, CUBLAS_INT incx,
                        void *y, cudaDataType yType, CUBLAS_INT incy);
CUBLAS_FUNCTION(ScalEx)(cublasHandle_t handle, CUBLAS_INT n, const void *alpha, cudaDataType alphaType,
                        void *x, cudaDataType xType, CUBLAS_INT incx, cudaDataType executionType);
CUBLAS_FUNCTION(AxpyEx)(cublasHandle_t handle, CUBLAS_INT n, const void *alpha, cudaDataType alphaType,
                        const void *x, cudaDataType xType, CUBLAS_INT incx, void *y, cudaDataType yType,
                        CUBLAS_INT incy, cudaDataType executiontype);
CUBLAS_FUNCTION(DotEx)(cublasHandle_t handle, CUBLAS_INT n, const void *x, cudaDataType xType,
                       CUBLAS_INT incx, const void *y, cudaDataType yType, CUBLAS_INT incy, void *result,
                       cudaDataType resultType, cudaDataType executionType);
CUBLAS_FUNCTION(DotcEx)(cublasHandle_t handle, CUBLAS_INT n, const void *x, cudaDataType xType,
                        CUBLAS_INT incx, const void *y, cudaDataType yType, CUBLAS_INT incy, void *result,
                        cudaDataType resultType, cudaDataType executionType);
CUBLAS_FUNCTION(AsumEx)(cublasHandle_t handle, CUBLAS_INT n, const void *x, cudaDataType xType,
                        CUBLAS_INT incx, void *result, cudaDataType resultType, cudaDataType executiontype);
CUBLAS_FUNCTION(Nrm2Ex)(cublasHandle_t handle, CUBLAS_INT n, const void *x, cudaDataType xType,
                        CUBLAS_INT incx, void *result, cudaDataType resultType, cudaDataType executionType);
CUBLAS_FUNCTION(IamaxEx)(cublasHandle_t handle, CUBLAS_INT n, const void *x, cudaDataType xType,
                         CUBLAS_INT incx, CUBLAS_INT *result);
CUBLAS_FUNCTION(IaminEx)(cublasHandle_t handle, CUBLAS_INT n, const void *x, cudaDataType xType,
                         CUBLAS_INT incx, CUBLAS_INT *result);
CUBLAS_FUNCTION(RotEx)(cublasHandle_t handle, CUBLAS_INT n, void *x, cudaDataType xType, CUBLAS_INT incx,
                       void *y, cudaDataType yType, CUBLAS_INT incy, const void *c, const void *s,
                       cudaDataType csType, cudaDataType executiontype);
CUBLAS_FUNCTION(RotmEx)(cublasHandle_t handle, CUBLAS_INT n, void *x, cudaDataType xType, CUBLAS_INT incx,
                        void *y, cudaDataType yType, CUBLAS_INT incy, const void *param,
                        cudaDataType paramType, cudaDataType executiontype);
CUBLAS_FUNCTION(GemmEx)(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                        CUBLAS_INT m, CUBLAS_INT n, CUBLAS_INT k, const void *alpha, const void *A,
                        cudaDataType Atype, CUBLAS_INT lda, const void *B, cudaDataType Btype, CUBLAS_INT ldb,
                        const void *beta, void *C, cudaDataType Ctype, CUBLAS_INT ldc,
                        cublasComputeType_t computeType, cublasGemmAlgo_t algo);
CUBLAS_FUNCTION(GemmBatchedEx)(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                               CUBLAS_INT m, CUBLAS_INT n, CUBLAS_INT k, const void *alpha,
                               const void *const *Aarray, cudaDataType Atype, CUBLAS_INT lda,
                               const void *const *Barray, cudaDataType Btype, CUBLAS_INT ldb,
                               const void *beta, void *const *Carray, cudaDataType Ctype, CUBLAS_INT ldc,
                               CUBLAS_INT batchCount, cublasComputeType_t computeType, cublasGemmAlgo_t algo);
CUBLAS_FUNCTION(GemmStridedBatchedEx)(cublasHandle_t handle, cublasOperation_t transa,
                                      cublasOperation_t transb, CUBLAS_INT m, CUBLAS_INT n, CUBLAS_INT k,
                                      const void *alpha, const void *A, cudaDataType Atype, CUBLAS_INT lda,
                                      long long int strideA, const void *B, cudaDataType Btype,
                                      CUBLAS_INT ldb, long long int strideB, const void *beta, void *C,
                                      cudaDataType Ctype, CUBLAS_INT ldc, long long int strideC,
                                      CUBLAS_INT batchCount, cublasComputeType_t computeType,
                                      cublasGemmAlgo_t algo);
CUBLAS_FUNCTION(GemmGroupedBatchedEx)(cublasHandle_t handle, const cublasOperation_t *transa_array,
                                      const cublasOperation_t *transb_array, const CUBLAS_INT *m_array,
                                      const CUBLAS_INT *n_array, const CUBLAS_INT *k_array,
                                      const void *alpha_array, const void *const *Aarray, cudaDataType Atype,
                                      const CUBLAS_INT *lda_array, const void *const *Barray,
                                      cudaDataType Btype, const CUBLAS_INT *ldb_array, const void *beta_array,
                                      void *const *Carray, cudaDataType Ctype, const CUBLAS_INT *ldc_array,
                                      CUBLAS_INT group_count, const CUBLAS_INT *group_size,
                                      cublasComputeType_t computeType);
CUBLAS_FUNCTION(SgemmEx)(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                         CUBLAS_INT m, CUBLAS_INT n, CUBLAS_INT k, const float *alpha, const void *A,
                         cudaDataType Atype, CUBLAS_INT lda, const void *B, cudaDataType Btype,
                         CUBLAS_INT ldb, const float *beta, void *C, cudaDataType Ctype, CUBLAS_INT ldc);
CUBLAS_FUNCTION(CgemmEx)(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                         CUBLAS_INT m, CUBLAS_INT n, CUBLAS_INT k, const cuComplex *alpha, const void *A,
                         cudaDataType Atype, CUBLAS_INT lda, const void *B, cudaDataType Btype,
                         CUBLAS_INT ldb, const cuComplex *beta, void *C, cudaDataType Ctype, CUBLAS_INT ldc);
CUBLAS_FUNCTION(Cgemm3mEx)(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                           CUBLAS_INT m, CUBLAS_INT n, CUBLAS_INT k, const cuComplex *alpha, const void *A,
                           cudaDataType Atype, CUBLAS_INT lda, const void *B, cudaDataType Btype,
                           CUBLAS_INT ldb, const cuComplex *beta, void *C, cudaDataType Ctype,
                           CUBLAS_INT ldc);
CUBLAS_FUNCTION(Cgemm3mBatched)(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                                CUBLAS_INT m, CUBLAS_INT n, CUBLAS_INT k, const cuComplex *alpha,
                                const cuComplex *const *Aarray, CUBLAS_INT lda,
                                const cuComplex *const *Barray, CUBLAS_INT ldb, const cuComplex *beta,
                                cuComplex *const *Carray, CUBLAS_INT ldc, CUBLAS_INT batchCount);
CUBLAS_FUNCTION(Cgemm3mStridedBatched)(cublasHandle_t handle, cublasOperation_t transa,
                                       cublasOperation_t transb, CUBLAS_INT m, CUBLAS_INT n, CUBLAS_INT k,
                                       const cuComplex *alpha, const cuComplex *A, CUBLAS_INT lda,
                                       long long int strideA, const cuComplex *B, CUBLAS_INT ldb,
                                       long long int strideB, const cuComplex *beta, cuComplex *C,
                                       CUBLAS_INT ldc, long long int strideC, CUBLAS_INT batchCount);
CUBLAS_FUNCTION(CsyrkEx)(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, CUBLAS_INT n,
                         CUBLAS_INT k, const cuComplex *alpha, const void *A, cudaDataType Atype,
                         CUBLAS_INT lda, const cuComplex *beta, void *C, cudaDataType Ctype, CUBLAS_INT ldc);
CUBLAS_FUNCTION(Csyrk3mEx)(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,
                           CUBLAS_INT n, CUBLAS_INT k, const cuComplex *alpha, const void *A,
                           cudaDataType Atype, CUBLAS_INT lda, const cuComplex *beta, void *C,
                           cudaDataType Ctype, CUBLAS_INT ldc);
CUBLAS_FUNCTION(CherkEx)(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, CUBLAS_INT n,
                         CUBLAS_INT k, const float *alpha, const void *A, cudaDataType Atype, CUBLAS_INT lda,
                         const float *beta, void *C, cudaDataType Ctype, CUBLAS_INT ldc);
CUBLAS_FUNCTION(Cherk3mEx)(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,
                           CUBLAS_INT n, CUBLAS_INT k, const float *alpha, const void *A, cudaDataType Atype,
                           CUBLAS_INT lda, const float *beta, void *C, cudaDataType Ctype, CUBLAS_INT ldc);

#if defined(__cplusplus)
CUBLAS_FUNCTION(Hgemm)(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                       CUBLAS_INT m, CUBLAS_INT n, CUBLAS_INT k, const __half *alpha, const __half *A,
                       CUBLAS_INT lda, const __half *B, CUBLAS_INT ldb, const __half *beta, __half *C,
                       CUBLAS_INT ldc);
CUBLAS_FUNCTION(HgemmBatched)(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                              CUBLAS_INT m, CUBLAS_INT n, CUBLAS_INT k, const __half *alpha,
                              const __half *const *Aarray, CUBLAS_INT lda, const __half *const *Barray,
                              CUBLAS_INT ldb, const __half *beta, __half *const *Carray, CUBLAS_INT ldc,
                              CUBLAS_INT batchCount);
CUBLAS_FUNCTION(HgemmStridedBatched)(cublasHandle_t handle, cublasOperation_t transa,
                                     cublasOperation_t transb, CUBLAS_INT m, CUBLAS_INT n, CUBLAS_INT k,
                                     const __half *alpha, const __half *A, CUBLAS_INT lda,
                                     long long int strideA, const __half *B, CUBLAS_INT ldb,
                                     long long int strideB, const __half *beta, __half *C, CUBLAS_INT ldc,
                                     long long int strideC, CUBLAS_INT batchCount);
#endif
