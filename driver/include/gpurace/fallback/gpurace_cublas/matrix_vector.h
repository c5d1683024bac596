// Functions of a matrix and vectors. Part of functions.h.
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCgbmv_v2)(cublasHandle_t handle, cublasOperation_t trans,
                                                        CUBLAS_INT m, CUBLAS_INT n, CUBLAS_INT kl,
                                                        CUBLAS_INT ku, const cuComplex *alpha,
                                                        const cuComplex *A, CUBLAS_INT lda,
                                                        const cuComplex *x, CUBLAS_INT incx,
                                                        const cuComplex *beta, cuComplex *y, CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCgemv_v2)(cublasHandle_t handle, cublasOperation_t trans,
                                                        CUBLAS_INT m, CUBLAS_INT n, const cuComplex *alpha,
                                                        const cuComplex *A, CUBLAS_INT lda,
                                                        const cuComplex *x, CUBLAS_INT incx,
                                                        const cuComplex *beta, cuComplex *y, CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCgemvBatched)(
    cublasHandle_t handle, cublasOperation_t trans, CUBLAS_INT m, CUBLAS_INT n, const cuComplex *alpha,
    const cuComplex *const *Aarray, CUBLAS_INT lda, const cuComplex *const *xarray, CUBLAS_INT incx,
    const cuComplex *beta, cuComplex *const *yarray, CUBLAS_INT incy, CUBLAS_INT batchCount);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCgemvStridedBatched)(
    cublasHandle_t handle, cublasOperation_t trans, CUBLAS_INT m, CUBLAS_INT n, const cuComplex *alpha,
    const cuComplex *A, CUBLAS_INT lda, long long int strideA, const cuComplex *x, CUBLAS_INT incx,
    long long int stridex, const cuComplex *beta, cuComplex *y, CUBLAS_INT incy, long long int stridey,
    CUBLAS_INT batchCount);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCgerc_v2)(cublasHandle_t handle, CUBLAS_INT m, CUBLAS_INT n,
                                                        const cuComplex *alpha, const cuComplex *x,
                                                        CUBLAS_INT incx, const cuComplex *y, CUBLAS_INT incy,
                                                        cuComplex *A, CUBLAS_INT lda);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCgeru_v2)(cublasHandle_t handle, CUBLAS_INT m, CUBLAS_INT n,
                                                        const cuComplex *alpha, const cuComplex *x,
                                                        CUBLAS_INT incx, const cuComplex *y, CUBLAS_INT incy,
                                                        cuComplex *A, CUBLAS_INT lda);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasChbmv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        CUBLAS_INT n, CUBLAS_INT k, const cuComplex *alpha,
                                                        const cuComplex *A, CUBLAS_INT lda,
                                                        const cuComplex *x, CUBLAS_INT incx,
                                                        const cuComplex *beta, cuComplex *y, CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasChemv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        CUBLAS_INT n, const cuComplex *alpha,
                                                        const cuComplex *A, CUBLAS_INT lda,
                                                        const cuComplex *x, CUBLAS_INT incx,
                                                        const cuComplex *beta, cuComplex *y, CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCher2_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        CUBLAS_INT n, const cuComplex *alpha,
                                                        const cuComplex *x, CUBLAS_INT incx,
                                                        const cuComplex *y, CUBLAS_INT incy, cuComplex *A,
                                                        CUBLAS_INT lda);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCher_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                       CUBLAS_INT n, const float *alpha, const cuComplex *x,
                                                       CUBLAS_INT incx, cuComplex *A, CUBLAS_INT lda);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasChpmv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        CUBLAS_INT n, const cuComplex *alpha,
                                                        const cuComplex *AP, const cuComplex *x,
                                                        CUBLAS_INT incx, const cuComplex *beta, cuComplex *y,
                                                        CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasChpr2_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        CUBLAS_INT n, const cuComplex *alpha,
                                                        const cuComplex *x, CUBLAS_INT incx,
                                                        const cuComplex *y, CUBLAS_INT incy, cuComplex *AP);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasChpr_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                       CUBLAS_INT n, const float *alpha, const cuComplex *x,
                                                       CUBLAS_INT incx, cuComplex *AP);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCsymv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        CUBLAS_INT n, const cuComplex *alpha,
                                                        const cuComplex *A, CUBLAS_INT lda,
                                                        const cuComplex *x, CUBLAS_INT incx,
                                                        const cuComplex *beta, cuComplex *y, CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCsyr2_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        CUBLAS_INT n, const cuComplex *alpha,
                                                        const cuComplex *x, CUBLAS_INT incx,
                                                        const cuComplex *y, CUBLAS_INT incy, cuComplex *A,
                                                        CUBLAS_INT lda);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCsyr_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                       CUBLAS_INT n, const cuComplex *alpha,
                                                       const cuComplex *x, CUBLAS_INT incx, cuComplex *A,
                                                       CUBLAS_INT lda);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCtbmv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        cublasOperation_t trans, cublasDiagType_t diag,
                                                        CUBLAS_INT n, CUBLAS_INT k, const cuComplex *A,
                                                        CUBLAS_INT lda, cuComplex *x, CUBLAS_INT incx);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCtbsv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        cublasOperation_t trans, cublasDiagType_t diag,
                                                        CUBLAS_INT n, CUBLAS_INT k, const cuComplex *A,
                                                        CUBLAS_INT lda, cuComplex *x, CUBLAS_INT incx);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCtpmv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        cublasOperation_t trans, cublasDiagType_t diag,
                                                        CUBLAS_INT n, const cuComplex *AP, cuComplex *x,
                                                        CUBLAS_INT incx);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCtpsv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        cublasOperation_t trans, cublasDiagType_t diag,
                                                        CUBLAS_INT n, const cuComplex *AP, cuComplex *x,
                                                        CUBLAS_INT incx);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCtrmv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        cublasOperation_t trans, cublasDiagType_t diag,
                                                        CUBLAS_INT n, const cuComplex *A, CUBLAS_INT lda,
                                                        cuComplex *x, CUBLAS_INT incx);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCtrsv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        cublasOperation_t trans, cublasDiagType_t diag,
                                                        CUBLAS_INT n, const cuComplex *A, CUBLAS_INT lda,
                                                        cuComplex *x, CUBLAS_INT incx);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDgbmv_v2)(cublasHandle_t handle, cublasOperation_t trans,
                                                        CUBLAS_INT m, CUBLAS_INT n, CUBLAS_INT kl,
                                                        CUBLAS_INT ku, const double *alpha, const double *A,
                                                        CUBLAS_INT lda, const double *x, CUBLAS_INT incx,
                                                        const double *beta, double *y, CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDgemv_v2)(cublasHandle_t handle, cublasOperation_t trans,
                                                        CUBLAS_INT m, CUBLAS_INT n, const double *alpha,
                                                        const double *A, CUBLAS_INT lda, const double *x,
                                                        CUBLAS_INT incx, const double *beta, double *y,
                                                        CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDgemvBatched)(cublasHandle_t handle, cublasOperation_t trans,
                                                            CUBLAS_INT m, CUBLAS_INT n, const double *alpha,
                                                            const double *const *Aarray, CUBLAS_INT lda,
                                                            const double *const *xarray, CUBLAS_INT incx,
                                                            const double *beta, double *const *yarray,
                                                            CUBLAS_INT incy, CUBLAS_INT batchCount);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDgemvStridedBatched)(
    cublasHandle_t handle, cublasOperation_t trans, CUBLAS_INT m, CUBLAS_INT n, const double *alpha,
    const double *A, CUBLAS_INT lda, long long int strideA, const double *x, CUBLAS_INT incx,
    long long int stridex, const double *beta, double *y, CUBLAS_INT incy, long long int stridey,
    CUBLAS_INT batchCount);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDger_v2)(cublasHandle_t handle, CUBLAS_INT m, CUBLAS_INT n,
                                                       const double *alpha, const double *x, CUBLAS_INT incx,
                                                       const double *y, CUBLAS_INT incy, double *A,
                                                       CUBLAS_INT lda);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDsbmv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        CUBLAS_INT n, CUBLAS_INT k, const double *alpha,
                                                        const double *A, CUBLAS_INT lda, const double *x,
                                                        CUBLAS_INT incx, const double *beta, double *y,
                                                        CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDspmv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        CUBLAS_INT n, const double *alpha, const double *AP,
                                                        const double *x, CUBLAS_INT incx, const double *beta,
                                                        double *y, CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDspr2_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        CUBLAS_INT n, const double *alpha, const double *x,
                                                        CUBLAS_INT incx, const double *y, CUBLAS_INT incy,
                                                        double *AP);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDspr_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                       CUBLAS_INT n, const double *alpha, const double *x,
                                                       CUBLAS_INT incx, double *AP);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDsymv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        CUBLAS_INT n, const double *alpha, const double *A,
                                                        CUBLAS_INT lda, const double *x, CUBLAS_INT incx,
                                                        const double *beta, double *y, CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDsyr2_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        CUBLAS_INT n, const double *alpha, const double *x,
                                                        CUBLAS_INT incx, const double *y, CUBLAS_INT incy,
                                                        double *A, CUBLAS_INT lda);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDsyr_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                       CUBLAS_INT n, const double *alpha, const double *x,
                                                       CUBLAS_INT incx, double *A, CUBLAS_INT lda);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDtbmv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        cublasOperation_t trans, cublasDiagType_t diag,
                                                        CUBLAS_INT n, CUBLAS_INT k, const double *A,
                                                        CUBLAS_INT lda, double *x, CUBLAS_INT incx);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDtbsv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        cublasOperation_t trans, cublasDiagType_t diag,
                                                        CUBLAS_INT n, CUBLAS_INT k, const double *A,
                                                        CUBLAS_INT lda, double *x, CUBLAS_INT incx);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDtpmv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        cublasOperation_t trans, cublasDiagType_t diag,
                                                        CUBLAS_INT n, const double *AP, double *x,
                                                        CUBLAS_INT incx);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDtpsv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        cublasOperation_t trans, cublasDiagType_t diag,
                                                        CUBLAS_INT n, const double *AP, double *x,
                                                        CUBLAS_INT incx);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDtrmv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        cublasOperation_t trans, cublasDiagType_t diag,
                                                        CUBLAS_INT n, const double *A, CUBLAS_INT lda,
                                                        double *x, CUBLAS_INT incx);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDtrsv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        cublasOperation_t trans, cublasDiagType_t diag,
                                                        CUBLAS_INT n, const double *A, CUBLAS_INT lda,
                                                        double *x, CUBLAS_INT incx);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasSgbmv_v2)(cublasHandle_t handle, cublasOperation_t trans,
                                                        CUBLAS_INT m, CUBLAS_INT n, CUBLAS_INT kl,
                                                        CUBLAS_INT ku, const float *alpha, const float *A,
                                                        CUBLAS_INT lda, const float *x, CUBLAS_INT incx,
                                                        const float *beta, float *y, CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasSgemv_v2)(cublasHandle_t handle, cublasOperation_t trans,
                                                        CUBLAS_INT m, CUBLAS_INT n, const float *alpha,
                                                        const float *A, CUBLAS_INT lda, const float *x,
                                                        CUBLAS_INT incx, const float *beta, float *y,
                                                        CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasSgemvBatched)(cublasHandle_t handle, cublasOperation_t trans,
                                                            CUBLAS_INT m, CUBLAS_INT n, const float *alpha,
                                                            const float *const *Aarray, CUBLAS_INT lda,
                                                            const float *const *xarray, CUBLAS_INT incx,
                                                            const float *beta, float *const *yarray,
                                                            CUBLAS_INT incy, CUBLAS_INT batchCount);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasSgemvStridedBatched)(
    cublasHandle_t handle, cublasOperation_t trans, CUBLAS_INT m, CUBLAS_INT n, const float *alpha,
    const float *A, CUBLAS_INT lda, long long int strideA, const float *x, CUBLAS_INT incx,
    long long int stridex, const float *beta, float *y, CUBLAS_INT incy, long long int stridey,
    CUBLAS_INT batchCount);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasSger_v2)(cublasHandle_t handle, CUBLAS_INT m, CUBLAS_INT n,
                                                       const float *alpha, const float *x, CUBLAS_INT incx,
                                                       const float *y, CUBLAS_INT incy, float *A,
                                                       CUBLAS_INT lda);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasSsbmv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        CUBLAS_INT n, CUBLAS_INT k, const float *alpha,
                                                        const float *A, CUBLAS_INT lda, const float *x,
                                                        CUBLAS_INT incx, const float *beta, float *y,
                                                        CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasSspmv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        CUBLAS_INT n, const float *alpha, const float *AP,
                                                        const float *x, CUBLAS_INT incx, const float *beta,
                                                        float *y, CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasSspr2_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        CUBLAS_INT n, const float *alpha, const float *x,
                                                        CUBLAS_INT incx, const float *y, CUBLAS_INT incy,
                                                        float *AP);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasSspr_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                       CUBLAS_INT n, const float *alpha, const float *x,
                                                       CUBLAS_INT incx, float *AP);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasSsymv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        CUBLAS_INT n, const float *alpha, const float *A,
                                                        CUBLAS_INT lda, const float *x, CUBLAS_INT incx,
                                                        const float *beta, float *y, CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasSsyr2_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        CUBLAS_INT n, const float *alpha, const float *x,
                                                        CUBLAS_INT incx, const float *y, CUBLAS_INT incy,
                                                        float *A, CUBLAS_INT lda);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasSsyr_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                       CUBLAS_INT n, const float *alpha, const float *x,
                                                       CUBLAS_INT incx, float *A, CUBLAS_INT lda);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasStbmv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        cublasOperation_t trans, cublasDiagType_t diag,
                                                        CUBLAS_INT n, CUBLAS_INT k, const float *A,
                                                        CUBLAS_INT lda, float *x, CUBLAS_INT incx);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasStbsv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        cublasOperation_t trans, cublasDiagType_t diag,
                                                        CUBLAS_INT n, CUBLAS_INT k, const float *A,
                                                        CUBLAS_INT lda, float *x, CUBLAS_INT incx);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasStpmv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        cublasOperation_t trans, cublasDiagType_t diag,
                                                        CUBLAS_INT n, const float *AP, float *x,
                                                        CUBLAS_INT incx);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasStpsv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        cublasOperation_t trans, cublasDiagType_t diag,
                                                        CUBLAS_INT n, const float *AP, float *x,
                                                        CUBLAS_INT incx);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasStrmv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        cublasOperation_t trans, cublasDiagType_t diag,
                                                        CUBLAS_INT n, const float *A, CUBLAS_INT lda,
                                                        float *x, CUBLAS_INT incx);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasStrsv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        cublasOperation_t trans, cublasDiagType_t diag,
                                                        CUBLAS_INT n, const float *A, CUBLAS_INT lda,
                                                        float *x, CUBLAS_INT incx);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZgbmv_v2)(
    cublasHandle_t handle, cublasOperation_t trans, CUBLAS_INT m, CUBLAS_INT n, CUBLAS_INT kl, CUBLAS_INT ku,
    const cuDoubleComplex *alpha, const cuDoubleComplex *A, CUBLAS_INT lda, const cuDoubleComplex *x,
    CUBLAS_INT incx, const cuDoubleComplex *beta, cuDoubleComplex *y, CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZgemv_v2)(
    cublasHandle_t handle, cublasOperation_t trans, CUBLAS_INT m, CUBLAS_INT n, const cuDoubleComplex *alpha,
    const cuDoubleComplex *A, CUBLAS_INT lda, const cuDoubleComplex *x, CUBLAS_INT incx,
    const cuDoubleComplex *beta, cuDoubleComplex *y, CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZgemvBatched)(
    cublasHandle_t handle, cublasOperation_t trans, CUBLAS_INT m, CUBLAS_INT n, const cuDoubleComplex *alpha,
    const cuDoubleComplex *const *Aarray, CUBLAS_INT lda, const cuDoubleComplex *const *xarray,
    CUBLAS_INT incx, const cuDoubleComplex *beta, cuDoubleComplex *const *yarray, CUBLAS_INT incy,
    CUBLAS_INT batchCount);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZgemvStridedBatched)(
    cublasHandle_t handle, cublasOperation_t trans, CUBLAS_INT m, CUBLAS_INT n, const cuDoubleComplex *alpha,
    const cuDoubleComplex *A, CUBLAS_INT lda, long long int strideA, const cuDoubleComplex *x,
    CUBLAS_INT incx, long long int stridex, const cuDoubleComplex *beta, cuDoubleComplex *y, CUBLAS_INT incy,
    long long int stridey, CUBLAS_INT batchCount);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZgerc_v2)(cublasHandle_t handle, CUBLAS_INT m, CUBLAS_INT n,
                                                        const cuDoubleComplex *alpha,
                                                        const cuDoubleComplex *x, CUBLAS_INT incx,
                                                        const cuDoubleComplex *y, CUBLAS_INT incy,
                                                        cuDoubleComplex *A, CUBLAS_INT lda);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZgeru_v2)(cublasHandle_t handle, CUBLAS_INT m, CUBLAS_INT n,
                                                        const cuDoubleComplex *alpha,
                                                        const cuDoubleComplex *x, CUBLAS_INT incx,
                                                        const cuDoubleComplex *y, CUBLAS_INT incy,
                                                        cuDoubleComplex *A, CUBLAS_INT lda);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZhbmv_v2)(
    cublasHandle_t handle, cublasFillMode_t uplo, CUBLAS_INT n, CUBLAS_INT k, const cuDoubleComplex *alpha,
    const cuDoubleComplex *A, CUBLAS_INT lda, const cuDoubleComplex *x, CUBLAS_INT incx,
    const cuDoubleComplex *beta, cuDoubleComplex *y, CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZhemv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        CUBLAS_INT n, const cuDoubleComplex *alpha,
                                                        const cuDoubleComplex *A, CUBLAS_INT lda,
                                                        const cuDoubleComplex *x, CUBLAS_INT incx,
                                                        const cuDoubleComplex *beta, cuDoubleComplex *y,
                                                        CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZher2_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        CUBLAS_INT n, const cuDoubleComplex *alpha,
                                                        const cuDoubleComplex *x, CUBLAS_INT incx,
                                                        const cuDoubleComplex *y, CUBLAS_INT incy,
                                                        cuDoubleComplex *A, CUBLAS_INT lda);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZher_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                       CUBLAS_INT n, const double *alpha,
                                                       const cuDoubleComplex *x, CUBLAS_INT incx,
                                                       cuDoubleComplex *A, CUBLAS_INT lda);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZhpmv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        CUBLAS_INT n, const cuDoubleComplex *alpha,
                                                        const cuDoubleComplex *AP, const cuDoubleComplex *x,
                                                        CUBLAS_INT incx, const cuDoubleComplex *beta,
                                                        cuDoubleComplex *y, CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZhpr2_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        CUBLAS_INT n, const cuDoubleComplex *alpha,
                                                        const cuDoubleComplex *x, CUBLAS_INT incx,
                                                        const cuDoubleComplex *y, CUBLAS_INT incy,
                                                        cuDoubleComplex *AP);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZhpr_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                       CUBLAS_INT n, const double *alpha,
                                                       const cuDoubleComplex *x, CUBLAS_INT incx,
                                                       cuDoubleComplex *AP);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZsymv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        CUBLAS_INT n, const cuDoubleComplex *alpha,
                                                        const cuDoubleComplex *A, CUBLAS_INT lda,
                                                        const cuDoubleComplex *x, CUBLAS_INT incx,
                                                        const cuDoubleComplex *beta, cuDoubleComplex *y,
                                                        CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZsyr2_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        CUBLAS_INT n, const cuDoubleComplex *alpha,
                                                        const cuDoubleComplex *x, CUBLAS_INT incx,
                                                        const cuDoubleComplex *y, CUBLAS_INT incy,
                                                        cuDoubleComplex *A, CUBLAS_INT lda);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZsyr_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                       CUBLAS_INT n, const cuDoubleComplex *alpha,
                                                       const cuDoubleComplex *x, CUBLAS_INT incx,
                                                       cuDoubleComplex *A, CUBLAS_INT lda);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZtbmv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        cublasOperation_t trans, cublasDiagType_t diag,
                                                        CUBLAS_INT n, CUBLAS_INT k, const cuDoubleComplex *A,
                                                        CUBLAS_INT lda, cuDoubleComplex *x, CUBLAS_INT incx);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZtbsv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        cublasOperation_t trans, cublasDiagType_t diag,
                                                        CUBLAS_INT n, CUBLAS_INT k, const cuDoubleComplex *A,
                                                        CUBLAS_INT lda, cuDoubleComplex *x, CUBLAS_INT incx);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZtpmv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        cublasOperation_t trans, cublasDiagType_t diag,
                                                        CUBLAS_INT n, const cuDoubleComplex *AP,
                                                        cuDoubleComplex *x, CUBLAS_INT incx);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZtpsv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        cublasOperation_t trans, cublasDiagType_t diag,
                                                        CUBLAS_INT n, const cuDoubleComplex *AP,
                                                        cuDoubleComplex *x, CUBLAS_INT incx);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZtrmv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        cublasOperation_t trans, cublasDiagType_t diag,
                                                        CUBLAS_INT n, const cuDoubleComplex *A,
                                                        CUBLAS_INT lda, cuDoubleComplex *x, CUBLAS_INT incx);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZtrsv_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                        cublasOperation_t trans, cublasDiagType_t diag,
                                                        CUBLAS_INT n, const cuDoubleComplex *A,
                                                        CUBLAS_INT lda, cuDoubleComplex *x, CUBLAS_INT incx);
