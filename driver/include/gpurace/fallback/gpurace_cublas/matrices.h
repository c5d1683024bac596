// Other functions of matrices. Part of functions.h.
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCdgmm)(cublasHandle_t handle, cublasSideMode_t mode,
                                                     CUBLAS_INT m, CUBLAS_INT n, const cuComplex *A,
                                                     CUBLAS_INT lda, const cuComplex *x, CUBLAS_INT incx,
                                                     cuComplex *C, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCgeam)(cublasHandle_t handle, cublasOperation_t transa,
                                                     cublasOperation_t transb, CUBLAS_INT m, CUBLAS_INT n,
                                                     const cuComplex *alpha, const cuComplex *A,
                                                     CUBLAS_INT lda, const cuComplex *beta,
                                                     const cuComplex *B, CUBLAS_INT ldb, cuComplex *C,
                                                     CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasChemm_v2)(cublasHandle_t handle, cublasSideMode_t side,
                                                        cublasFillMode_t uplo, CUBLAS_INT m, CUBLAS_INT n,
                                                        const cuComplex *alpha, const cuComplex *A,
                                                        CUBLAS_INT lda, const cuComplex *B, CUBLAS_INT ldb,
                                                        const cuComplex *beta, cuComplex *C, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCher2k_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                         cublasOperation_t trans, CUBLAS_INT n, CUBLAS_INT k,
                                                         const cuComplex *alpha, const cuComplex *A,
                                                         CUBLAS_INT lda, const cuComplex *B, CUBLAS_INT ldb,
                                                         const float *beta, cuComplex *C, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCherk3mEx)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                         cublasOperation_t trans, CUBLAS_INT n, CUBLAS_INT k,
                                                         const float *alpha, const void *A,
                                                         cudaDataType Atype, CUBLAS_INT lda,
                                                         const float *beta, void *C, cudaDataType Ctype,
                                                         CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCherk_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        cublasOperation_t trans, CUBLAS_INT n, CUBLAS_INT k,
                                                        const float *alpha, const cuComplex *A,
                                                        CUBLAS_INT lda, const float *beta, cuComplex *C,
                                                        CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCherkEx)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                       cublasOperation_t trans, CUBLAS_INT n, CUBLAS_INT k,
                                                       const float *alpha, const void *A, cudaDataType Atype,
                                                       CUBLAS_INT lda, const float *beta, void *C,
                                                       cudaDataType Ctype, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCherkx)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                      cublasOperation_t trans, CUBLAS_INT n, CUBLAS_INT k,
                                                      const cuComplex *alpha, const cuComplex *A,
                                                      CUBLAS_INT lda, const cuComplex *B, CUBLAS_INT ldb,
                                                      const float *beta, cuComplex *C, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCsymm_v2)(cublasHandle_t handle, cublasSideMode_t side,
                                                        cublasFillMode_t uplo, CUBLAS_INT m, CUBLAS_INT n,
                                                        const cuComplex *alpha, const cuComplex *A,
                                                        CUBLAS_INT lda, const cuComplex *B, CUBLAS_INT ldb,
                                                        const cuComplex *beta, cuComplex *C, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCsyr2k_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                         cublasOperation_t trans, CUBLAS_INT n, CUBLAS_INT k,
                                                         const cuComplex *alpha, const cuComplex *A,
                                                         CUBLAS_INT lda, const cuComplex *B, CUBLAS_INT ldb,
                                                         const cuComplex *beta, cuComplex *C, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCsyrk3mEx)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                         cublasOperation_t trans, CUBLAS_INT n, CUBLAS_INT k,
                                                         const cuComplex *alpha, const void *A,
                                                         cudaDataType Atype, CUBLAS_INT lda,
                                                         const cuComplex *beta, void *C, cudaDataType Ctype,
                                                         CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCsyrk_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        cublasOperation_t trans, CUBLAS_INT n, CUBLAS_INT k,
                                                        const cuComplex *alpha, const cuComplex *A,
                                                        CUBLAS_INT lda, const cuComplex *beta, cuComplex *C,
                                                        CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCsyrkEx)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                       cublasOperation_t trans, CUBLAS_INT n, CUBLAS_INT k,
                                                       const cuComplex *alpha, const void *A,
                                                       cudaDataType Atype, CUBLAS_INT lda,
                                                       const cuComplex *beta, void *C, cudaDataType Ctype,
                                                       CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCsyrkx)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                      cublasOperation_t trans, CUBLAS_INT n, CUBLAS_INT k,
                                                      const cuComplex *alpha, const cuComplex *A,
                                                      CUBLAS_INT lda, const cuComplex *B, CUBLAS_INT ldb,
                                                      const cuComplex *beta, cuComplex *C, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCtrmm_v2)(cublasHandle_t handle, cublasSideMode_t side,
                                                        cublasFillMode_t uplo, cublasOperation_t trans,
                                                        cublasDiagType_t diag, CUBLAS_INT m, CUBLAS_INT n,
                                                        const cuComplex *alpha, const cuComplex *A,
                                                        CUBLAS_INT lda, const cuComplex *B, CUBLAS_INT ldb,
                                                        cuComplex *C, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCtrsm_v2)(cublasHandle_t handle, cublasSideMode_t side,
                                                        cublasFillMode_t uplo, cublasOperation_t trans,
                                                        cublasDiagType_t diag, CUBLAS_INT m, CUBLAS_INT n,
                                                        const cuComplex *alpha, const cuComplex *A,
                                                        CUBLAS_INT lda, cuComplex *B, CUBLAS_INT ldb);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCtrsmBatched)(cublasHandle_t handle, cublasSideMode_t side,
                                                            cublasFillMode_t uplo, cublasOperation_t trans,
                                                            cublasDiagType_t diag, CUBLAS_INT m, CUBLAS_INT n,
                                                            const cuComplex *alpha, const cuComplex *const *A,
                                                            CUBLAS_INT lda, cuComplex *const *B,
                                                            CUBLAS_INT ldb, CUBLAS_INT batchCount);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDdgmm)(cublasHandle_t handle, cublasSideMode_t mode,
                                                     CUBLAS_INT m, CUBLAS_INT n, const double *A,
                                                     CUBLAS_INT lda, const double *x, CUBLAS_INT incx,
                                                     double *C, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDgeam)(cublasHandle_t handle, cublasOperation_t transa,
                                                     cublasOperation_t transb, CUBLAS_INT m, CUBLAS_INT n,
                                                     const double *alpha, const double *A, CUBLAS_INT lda,
                                                     const double *beta, const double *B, CUBLAS_INT ldb,
                                                     double *C, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDsymm_v2)(cublasHandle_t handle, cublasSideMode_t side,
                                                        cublasFillMode_t uplo, CUBLAS_INT m, CUBLAS_INT n,
                                                        const double *alpha, const double *A, CUBLAS_INT lda,
                                                        const double *B, CUBLAS_INT ldb, const double *beta,
                                                        double *C, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDsyr2k_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                         cublasOperation_t trans, CUBLAS_INT n, CUBLAS_INT k,
                                                         const double *alpha, const double *A, CUBLAS_INT lda,
                                                         const double *B, CUBLAS_INT ldb, const double *beta,
                                                         double *C, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDsyrk_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        cublasOperation_t trans, CUBLAS_INT n, CUBLAS_INT k,
                                                        const double *alpha, const double *A, CUBLAS_INT lda,
                                                        const double *beta, double *C, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDsyrkx)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                      cublasOperation_t trans, CUBLAS_INT n, CUBLAS_INT k,
                                                      const double *alpha, const double *A, CUBLAS_INT lda,
                                                      const double *B, CUBLAS_INT ldb, const double *beta,
                                                      double *C, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDtrmm_v2)(cublasHandle_t handle, cublasSideMode_t side,
                                                        cublasFillMode_t uplo, cublasOperation_t trans,
                                                        cublasDiagType_t diag, CUBLAS_INT m, CUBLAS_INT n,
                                                        const double *alpha, const double *A, CUBLAS_INT lda,
                                                        const double *B, CUBLAS_INT ldb, double *C,
                                                        CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDtrsm_v2)(cublasHandle_t handle, cublasSideMode_t side,
                                                        cublasFillMode_t uplo, cublasOperation_t trans,
                                                        cublasDiagType_t diag, CUBLAS_INT m, CUBLAS_INT n,
                                                        const double *alpha, const double *A, CUBLAS_INT lda,
                                                        double *B, CUBLAS_INT ldb);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDtrsmBatched)(cublasHandle_t handle, cublasSideMode_t side,
                                                            cublasFillMode_t uplo, cublasOperation_t trans,
                                                            cublasDiagType_t diag, CUBLAS_INT m, CUBLAS_INT n,
                                                            const double *alpha, const double *const *A,
                                                            CUBLAS_INT lda, double *const *B, CUBLAS_INT ldb,
                                                            CUBLAS_INT batchCount);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasGetMatrix)(CUBLAS_INT rows, CUBLAS_INT cols,
                                                         CUBLAS_INT elemSize, const void *A, CUBLAS_INT lda,
                                                         void *B, CUBLAS_INT ldb);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasGetMatrixAsync)(CUBLAS_INT rows, CUBLAS_INT cols,
                                                              CUBLAS_INT elemSize, const void *A,
                                                              CUBLAS_INT lda, void *B, CUBLAS_INT ldb,
                                                              cudaStream_t stream);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasSdgmm)(cublasHandle_t handle, cublasSideMode_t mode,
                                                     CUBLAS_INT m, CUBLAS_INT n, const float *A,
                                                     CUBLAS_INT lda, const float *x, CUBLAS_INT incx,
                                                     float *C, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasSetMatrix)(CUBLAS_INT rows, CUBLAS_INT cols,
                                                         CUBLAS_INT elemSize, const void *A, CUBLAS_INT lda,
                                                         void *B, CUBLAS_INT ldb);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasSetMatrixAsync)(CUBLAS_INT rows, CUBLAS_INT cols,
                                                              CUBLAS_INT elemSize, const void *A,
                                                              CUBLAS_INT lda, void *B, CUBLAS_INT ldb,
                                                              cudaStream_t stream);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasSgeam)(cublasHandle_t handle, cublasOperation_t transa,
                                                     cublasOperation_t transb, CUBLAS_INT m, CUBLAS_INT n,
                                                     const float *alpha, const float *A, CUBLAS_INT lda,
                                                     const float *beta, const float *B, CUBLAS_INT ldb,
                                                     float *C, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasSsymm_v2)(cublasHandle_t handle, cublasSideMode_t side,
                                                        cublasFillMode_t uplo, CUBLAS_INT m, CUBLAS_INT n,
                                                        const float *alpha, const float *A, CUBLAS_INT lda,
                                                        const float *B, CUBLAS_INT ldb, const float *beta,
                                                        float *C, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasSsyr2k_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                         cublasOperation_t trans, CUBLAS_INT n, CUBLAS_INT k,
                                                         const float *alpha, const float *A, CUBLAS_INT lda,
                                                         const float *B, CUBLAS_INT ldb, const float *beta,
                                                         float *C, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasSsyrk_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        cublasOperation_t trans, CUBLAS_INT n, CUBLAS_INT k,
                                                        const float *alpha, const float *A, CUBLAS_INT lda,
                                                        const float *beta, float *C, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasSsyrkx)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                      cublasOperation_t trans, CUBLAS_INT n, CUBLAS_INT k,
                                                      const float *alpha, const float *A, CUBLAS_INT lda,
                                                      const float *B, CUBLAS_INT ldb, const float *beta,
                                                      float *C, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasStrmm_v2)(cublasHandle_t handle, cublasSideMode_t side,
                                                        cublasFillMode_t uplo, cublasOperation_t trans,
                                                        cublasDiagType_t diag, CUBLAS_INT m, CUBLAS_INT n,
                                                        const float *alpha, const float *A, CUBLAS_INT lda,
                                                        const float *B, CUBLAS_INT ldb, float *C,
                                                        CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasStrsm_v2)(cublasHandle_t handle, cublasSideMode_t side,
                                                        cublasFillMode_t uplo, cublasOperation_t trans,
                                                        cublasDiagType_t diag, CUBLAS_INT m, CUBLAS_INT n,
                                                        const float *alpha, const float *A, CUBLAS_INT lda,
                                                        float *B, CUBLAS_INT ldb);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasStrsmBatched)(cublasHandle_t handle, cublasSideMode_t side,
                                                            cublasFillMode_t uplo, cublasOperation_t trans,
                                                            cublasDiagType_t diag, CUBLAS_INT m, CUBLAS_INT n,
                                                            const float *alpha, const float *const *A,
                                                            CUBLAS_INT lda, float *const *B, CUBLAS_INT ldb,
                                                            CUBLAS_INT batchCount);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZdgmm)(cublasHandle_t handle, cublasSideMode_t mode,
                                                     CUBLAS_INT m, CUBLAS_INT n, const cuDoubleComplex *A,
                                                     CUBLAS_INT lda, const cuDoubleComplex *x,
                                                     CUBLAS_INT incx, cuDoubleComplex *C, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZgeam)(cublasHandle_t handle, cublasOperation_t transa,
                                                     cublasOperation_t transb, CUBLAS_INT m, CUBLAS_INT n,
                                                     const cuDoubleComplex *alpha, const cuDoubleComplex *A,
                                                     CUBLAS_INT lda, const cuDoubleComplex *beta,
                                                     const cuDoubleComplex *B, CUBLAS_INT ldb,
                                                     cuDoubleComplex *C, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZhemm_v2)(
    cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, CUBLAS_INT m, CUBLAS_INT n,
    const cuDoubleComplex *alpha, const cuDoubleComplex *A, CUBLAS_INT lda, const cuDoubleComplex *B,
    CUBLAS_INT ldb, const cuDoubleComplex *beta, cuDoubleComplex *C, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZher2k_v2)(
    cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, CUBLAS_INT n, CUBLAS_INT k,
    const cuDoubleComplex *alpha, const cuDoubleComplex *A, CUBLAS_INT lda, const cuDoubleComplex *B,
    CUBLAS_INT ldb, const double *beta, cuDoubleComplex *C, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZherk_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        cublasOperation_t trans, CUBLAS_INT n, CUBLAS_INT k,
                                                        const double *alpha, const cuDoubleComplex *A,
                                                        CUBLAS_INT lda, const double *beta,
                                                        cuDoubleComplex *C, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZherkx)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                      cublasOperation_t trans, CUBLAS_INT n, CUBLAS_INT k,
                                                      const cuDoubleComplex *alpha, const cuDoubleComplex *A,
                                                      CUBLAS_INT lda, const cuDoubleComplex *B,
                                                      CUBLAS_INT ldb, const double *beta, cuDoubleComplex *C,
                                                      CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZsymm_v2)(
    cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, CUBLAS_INT m, CUBLAS_INT n,
    const cuDoubleComplex *alpha, const cuDoubleComplex *A, CUBLAS_INT lda, const cuDoubleComplex *B,
    CUBLAS_INT ldb, const cuDoubleComplex *beta, cuDoubleComplex *C, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZsyr2k_v2)(
    cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, CUBLAS_INT n, CUBLAS_INT k,
    const cuDoubleComplex *alpha, const cuDoubleComplex *A, CUBLAS_INT lda, const cuDoubleComplex *B,
    CUBLAS_INT ldb, const cuDoubleComplex *beta, cuDoubleComplex *C, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZsyrk_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        cublasOperation_t trans, CUBLAS_INT n, CUBLAS_INT k,
                                                        const cuDoubleComplex *alpha,
                                                        const cuDoubleComplex *A, CUBLAS_INT lda,
                                                        const cuDoubleComplex *beta, cuDoubleComplex *C,
                                                        CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZsyrkx)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                      cublasOperation_t trans, CUBLAS_INT n, CUBLAS_INT k,
                                                      const cuDoubleComplex *alpha, const cuDoubleComplex *A,
                                                      CUBLAS_INT lda, const cuDoubleComplex *B,
                                                      CUBLAS_INT ldb, const cuDoubleComplex *beta,
                                                      cuDoubleComplex *C, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZtrmm_v2)(
    cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans,
    cublasDiagType_t diag, CUBLAS_INT m, CUBLAS_INT n, const cuDoubleComplex *alpha, const cuDoubleComplex *A,
    CUBLAS_INT lda, const cuDoubleComplex *B, CUBLAS_INT ldb, cuDoubleComplex *C, CUBLAS_INT ldc);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZtrsm_v2)(cublasHandle_t handle, cublasSideMode_t side,
                                                        cublasFillMode_t uplo, cublasOperation_t trans,
                                                        cublasDiagType_t diag, CUBLAS_INT m, CUBLAS_INT n,
                                                        const cuDoubleComplex *alpha,
                                                        const cuDoubleComplex *A, CUBLAS_INT lda,
                                                        cuDoubleComplex *B, CUBLAS_INT ldb);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZtrsmBatched)(cublasHandle_t handle, cublasSideMode_t side,
                                                            cublasFillMode_t uplo, cublasOperation_t trans,
                                                            cublasDiagType_t diag, CUBLAS_INT m, CUBLAS_INT n,
                                                            const cuDoubleComplex *alpha,
                                                            const cuDoubleComplex *const *A, CUBLAS_INT lda,
                                                            cuDoubleComplex *const *B, CUBLAS_INT ldb,
                                                            CUBLAS_INT batchCount);
