// Products of two matrices. Part of functions.h.
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCgemm3m)(cublasHandle_t handle, cublasOperation_t transa,
                                                       cublasOperation_t transb, CUBLAS_INT m, CUBLAS_INT n,
                                                       CUBLAS_INT k, const cuComplex *alpha,
                                                       const cuComplex *A, CUBLAS_INT lda, const cuComplex *B,
                                                       CUBLAS_INT ldb, const cuComplex *beta, cuComplex *C,
                                                       CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCgemm3mBatched)(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, CUBLAS_INT m, CUBLAS_INT n,
    CUBLAS_INT k, const cuComplex *alpha, const cuComplex *const *Aarray, CUBLAS_INT lda,
    const cuComplex *const *Barray, CUBLAS_INT ldb, const cuComplex *beta, cuComplex *const *Carray,
    CUBLAS_INT ldc, CUBLAS_INT batchCount);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCgemm3mEx)(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, CUBLAS_INT m, CUBLAS_INT n,
    CUBLAS_INT k, const cuComplex *alpha, const void *A, cudaDataType Atype, CUBLAS_INT lda, const void *B,
    cudaDataType Btype, CUBLAS_INT ldb, const cuComplex *beta, void *C, cudaDataType Ctype, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCgemm3mStridedBatched)(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, CUBLAS_INT m, CUBLAS_INT n,
    CUBLAS_INT k, const cuComplex *alpha, const cuComplex *A, CUBLAS_INT lda, long long int strideA,
    const cuComplex *B, CUBLAS_INT ldb, long long int strideB, const cuComplex *beta, cuComplex *C,
    CUBLAS_INT ldc, long long int strideC, CUBLAS_INT batchCount);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCgemm_v2)(cublasHandle_t handle, cublasOperation_t transa,
                                                        cublasOperation_t transb, CUBLAS_INT m, CUBLAS_INT n,
                                                        CUBLAS_INT k, const cuComplex *alpha,
                                                        const cuComplex *A, CUBLAS_INT lda,
                                                        const cuComplex *B, CUBLAS_INT ldb,
                                                        const cuComplex *beta, cuComplex *C, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCgemmBatched)(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, CUBLAS_INT m, CUBLAS_INT n,
    CUBLAS_INT k, const cuComplex *alpha, const cuComplex *const *Aarray, CUBLAS_INT lda,
    const cuComplex *const *Barray, CUBLAS_INT ldb, const cuComplex *beta, cuComplex *const *Carray,
    CUBLAS_INT ldc, CUBLAS_INT batchCount);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCgemmEx)(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, CUBLAS_INT m, CUBLAS_INT n,
    CUBLAS_INT k, const cuComplex *alpha, const void *A, cudaDataType Atype, CUBLAS_INT lda, const void *B,
    cudaDataType Btype, CUBLAS_INT ldb, const cuComplex *beta, void *C, cudaDataType Ctype, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCgemmStridedBatched)(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, CUBLAS_INT m, CUBLAS_INT n,
    CUBLAS_INT k, const cuComplex *alpha, const cuComplex *A, CUBLAS_INT lda, long long int strideA,
    const cuComplex *B, CUBLAS_INT ldb, long long int strideB, const cuComplex *beta, cuComplex *C,
    CUBLAS_INT ldc, long long int strideC, CUBLAS_INT batchCount);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDgemm_v2)(cublasHandle_t handle, cublasOperation_t transa,
                                                        cublasOperation_t transb, CUBLAS_INT m, CUBLAS_INT n,
                                                        CUBLAS_INT k, const double *alpha, const double *A,
                                                        CUBLAS_INT lda, const double *B, CUBLAS_INT ldb,
                                                        const double *beta, double *C, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDgemmBatched)(cublasHandle_t handle, cublasOperation_t transa,
                                                            cublasOperation_t transb, CUBLAS_INT m,
                                                            CUBLAS_INT n, CUBLAS_INT k, const double *alpha,
                                                            const double *const *Aarray, CUBLAS_INT lda,
                                                            const double *const *Barray, CUBLAS_INT ldb,
                                                            const double *beta, double *const *Carray,
                                                            CUBLAS_INT ldc, CUBLAS_INT batchCount);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDgemmGroupedBatched)(
    cublasHandle_t handle, const cublasOperation_t *transa_array, const cublasOperation_t *transb_array,
    const CUBLAS_INT *m_array, const CUBLAS_INT *n_array, const CUBLAS_INT *k_array,
    const double *alpha_array, const double *const *Aarray, const CUBLAS_INT *lda_array,
    const double *const *Barray, const CUBLAS_INT *ldb_array, const double *beta_array, double *const *Carray,
    const CUBLAS_INT *ldc_array, CUBLAS_INT group_count, const CUBLAS_INT *group_size);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDgemmStridedBatched)(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, CUBLAS_INT m, CUBLAS_INT n,
    CUBLAS_INT k, const double *alpha, const double *A, CUBLAS_INT lda, long long int strideA,
    const double *B, CUBLAS_INT ldb, long long int strideB, const double *beta, double *C, CUBLAS_INT ldc,
    long long int strideC, CUBLAS_INT batchCount);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasGemmBatchedEx)(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, CUBLAS_INT m, CUBLAS_INT n,
    CUBLAS_INT k, const void *alpha, const void *const *Aarray, cudaDataType Atype, CUBLAS_INT lda,
    const void *const *Barray, cudaDataType Btype, CUBLAS_INT ldb, const void *beta, void *const *Carray,
    cudaDataType Ctype, CUBLAS_INT ldc, CUBLAS_INT batchCount, cublasComputeType_t computeType,
    cublasGemmAlgo_t algo);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasGemmEx)(cublasHandle_t handle, cublasOperation_t transa,
                                                      cublasOperation_t transb, CUBLAS_INT m, CUBLAS_INT n,
                                                      CUBLAS_INT k, const void *alpha, const void *A,
                                                      cudaDataType Atype, CUBLAS_INT lda, const void *B,
                                                      cudaDataType Btype, CUBLAS_INT ldb, const void *beta,
                                                      void *C, cudaDataType Ctype, CUBLAS_INT ldc,
                                                      cublasComputeType_t computeType, cublasGemmAlgo_t algo);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasGemmGroupedBatchedEx)(
    cublasHandle_t handle, const cublasOperation_t *transa_array, const cublasOperation_t *transb_array,
    const CUBLAS_INT *m_array, const CUBLAS_INT *n_array, const CUBLAS_INT *k_array, const void *alpha_array,
    const void *const *Aarray, cudaDataType Atype, const CUBLAS_INT *lda_array, const void *const *Barray,
    cudaDataType Btype, const CUBLAS_INT *ldb_array, const void *beta_array, void *const *Carray,
    cudaDataType Ctype, const CUBLAS_INT *ldc_array, CUBLAS_INT group_count, const CUBLAS_INT *group_size,
    cublasComputeType_t computeType);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasGemmStridedBatchedEx)(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, CUBLAS_INT m, CUBLAS_INT n,
    CUBLAS_INT k, const void *alpha, const void *A, cudaDataType Atype, CUBLAS_INT lda, long long int strideA,
    const void *B, cudaDataType Btype, CUBLAS_INT ldb, long long int strideB, const void *beta, void *C,
    cudaDataType Ctype, CUBLAS_INT ldc, long long int strideC, CUBLAS_INT batchCount,
    cublasComputeType_t computeType, cublasGemmAlgo_t algo);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasSgemm_v2)(cublasHandle_t handle, cublasOperation_t transa,
                                                        cublasOperation_t transb, CUBLAS_INT m, CUBLAS_INT n,
                                                        CUBLAS_INT k, const float *alpha, const float *A,
                                                        CUBLAS_INT lda, const float *B, CUBLAS_INT ldb,
                                                        const float *beta, float *C, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasSgemmBatched)(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, CUBLAS_INT m, CUBLAS_INT n,
    CUBLAS_INT k, const float *alpha, const float *const *Aarray, CUBLAS_INT lda, const float *const *Barray,
    CUBLAS_INT ldb, const float *beta, float *const *Carray, CUBLAS_INT ldc, CUBLAS_INT batchCount);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasSgemmEx)(cublasHandle_t handle, cublasOperation_t transa,
                                                       cublasOperation_t transb, CUBLAS_INT m, CUBLAS_INT n,
                                                       CUBLAS_INT k, const float *alpha, const void *A,
                                                       cudaDataType Atype, CUBLAS_INT lda, const void *B,
                                                       cudaDataType Btype, CUBLAS_INT ldb, const float *beta,
                                                       void *C, cudaDataType Ctype, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasSgemmGroupedBatched)(
    cublasHandle_t handle, const cublasOperation_t *transa_array, const cublasOperation_t *transb_array,
    const CUBLAS_INT *m_array, const CUBLAS_INT *n_array, const CUBLAS_INT *k_array, const float *alpha_array,
    const float *const *Aarray, const CUBLAS_INT *lda_array, const float *const *Barray,
    const CUBLAS_INT *ldb_array, const float *beta_array, float *const *Carray, const CUBLAS_INT *ldc_array,
    CUBLAS_INT group_count, const CUBLAS_INT *group_size);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasSgemmStridedBatched)(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, CUBLAS_INT m, CUBLAS_INT n,
    CUBLAS_INT k, const float *alpha, const float *A, CUBLAS_INT lda, long long int strideA, const float *B,
    CUBLAS_INT ldb, long long int strideB, const float *beta, float *C, CUBLAS_INT ldc, long long int strideC,
    CUBLAS_INT batchCount);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZgemm3m)(cublasHandle_t handle, cublasOperation_t transa,
                                                       cublasOperation_t transb, CUBLAS_INT m, CUBLAS_INT n,
                                                       CUBLAS_INT k, const cuDoubleComplex *alpha,
                                                       const cuDoubleComplex *A, CUBLAS_INT lda,
                                                       const cuDoubleComplex *B, CUBLAS_INT ldb,
                                                       const cuDoubleComplex *beta, cuDoubleComplex *C,
                                                       CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZgemm_v2)(cublasHandle_t handle, cublasOperation_t transa,
                                                        cublasOperation_t transb, CUBLAS_INT m, CUBLAS_INT n,
                                                        CUBLAS_INT k, const cuDoubleComplex *alpha,
                                                        const cuDoubleComplex *A, CUBLAS_INT lda,
                                                        const cuDoubleComplex *B, CUBLAS_INT ldb,
                                                        const cuDoubleComplex *beta, cuDoubleComplex *C,
                                                        CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZgemmBatched)(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, CUBLAS_INT m, CUBLAS_INT n,
    CUBLAS_INT k, const cuDoubleComplex *alpha, const cuDoubleComplex *const *Aarray, CUBLAS_INT lda,
    const cuDoubleComplex *const *Barray, CUBLAS_INT ldb, const cuDoubleComplex *beta,
    cuDoubleComplex *const *Carray, CUBLAS_INT ldc, CUBLAS_INT batchCount);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZgemmStridedBatched)(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, CUBLAS_INT m, CUBLAS_INT n,
    CUBLAS_INT k, const cuDoubleComplex *alpha, const cuDoubleComplex *A, CUBLAS_INT lda,
    long long int strideA, const cuDoubleComplex *B, CUBLAS_INT ldb, long long int strideB,
    const cuDoubleComplex *beta, cuDoubleComplex *C, CUBLAS_INT ldc, long long int strideC,
    CUBLAS_INT batchCount);
#if defined(__cplusplus)
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasHgemm)(cublasHandle_t handle, cublasOperation_t transa,
                                                     cublasOperation_t transb, CUBLAS_INT m, CUBLAS_INT n,
                                                     CUBLAS_INT k, const __half *alpha, const __half *A,
                                                     CUBLAS_INT lda, const __half *B, CUBLAS_INT ldb,
                                                     const __half *beta, __half *C, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasHgemmBatched)(cublasHandle_t handle, cublasOperation_t transa,
                                                            cublasOperation_t transb, CUBLAS_INT m,
                                                            CUBLAS_INT n, CUBLAS_INT k, const __half *alpha,
                                                            const __half *const *Aarray, CUBLAS_INT lda,
                                                            const __half *const *Barray, CUBLAS_INT ldb,
                                                            const __half *beta, __half *const *Carray,
                                                            CUBLAS_INT ldc, CUBLAS_INT batchCount);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasHgemmStridedBatched)(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, CUBLAS_INT m, CUBLAS_INT n,
    CUBLAS_INT k, const __half *alpha, const __half *A, CUBLAS_INT lda, long long int strideA,
    const __half *B, CUBLAS_INT ldb, long long int strideB, const __half *beta, __half *C, CUBLAS_INT ldc,
    long long int strideC, CUBLAS_INT batchCount);
#endif
