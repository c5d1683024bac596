// Functions of vectors. Part of functions.h.
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasAsumEx)(cublasHandle_t handle, CUBLAS_INT n, const void *x,
                                                      cudaDataType xType, CUBLAS_INT incx, void *result,
                                                      cudaDataType resultType, cudaDataType executiontype);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasAxpyEx)(cublasHandle_t handle, CUBLAS_INT n, const void *alpha,
                                                      cudaDataType alphaType, const void *x,
                                                      cudaDataType xType, CUBLAS_INT incx, void *y,
                                                      cudaDataType yType, CUBLAS_INT incy,
                                                      cudaDataType executiontype);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCaxpy_v2)(cublasHandle_t handle, CUBLAS_INT n,
                                                        const cuComplex *alpha, const cuComplex *x,
                                                        CUBLAS_INT incx, cuComplex *y, CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCcopy_v2)(cublasHandle_t handle, CUBLAS_INT n,
                                                        const cuComplex *x, CUBLAS_INT incx, cuComplex *y,
                                                        CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCdotc_v2)(cublasHandle_t handle, CUBLAS_INT n,
                                                        const cuComplex *x, CUBLAS_INT incx,
                                                        const cuComplex *y, CUBLAS_INT incy,
                                                        cuComplex *result);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCdotu_v2)(cublasHandle_t handle, CUBLAS_INT n,
                                                        const cuComplex *x, CUBLAS_INT incx,
                                                        const cuComplex *y, CUBLAS_INT incy,
                                                        cuComplex *result);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCopyEx)(cublasHandle_t handle, CUBLAS_INT n, const void *x,
                                                      cudaDataType xType, CUBLAS_INT incx, void *y,
                                                      cudaDataType yType, CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCrot_v2)(cublasHandle_t handle, CUBLAS_INT n, cuComplex *x,
                                                       CUBLAS_INT incx, cuComplex *y, CUBLAS_INT incy,
                                                       const float *c, const cuComplex *s);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCscal_v2)(cublasHandle_t handle, CUBLAS_INT n,
                                                        const cuComplex *alpha, cuComplex *x,
                                                        CUBLAS_INT incx);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCsrot_v2)(cublasHandle_t handle, CUBLAS_INT n, cuComplex *x,
                                                        CUBLAS_INT incx, cuComplex *y, CUBLAS_INT incy,
                                                        const float *c, const float *s);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCsscal_v2)(cublasHandle_t handle, CUBLAS_INT n,
                                                         const float *alpha, cuComplex *x, CUBLAS_INT incx);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasCswap_v2)(cublasHandle_t handle, CUBLAS_INT n, cuComplex *x,
                                                        CUBLAS_INT incx, cuComplex *y, CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDasum_v2)(cublasHandle_t handle, CUBLAS_INT n, const double *x,
                                                        CUBLAS_INT incx, double *result);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDaxpy_v2)(cublasHandle_t handle, CUBLAS_INT n,
                                                        const double *alpha, const double *x, CUBLAS_INT incx,
                                                        double *y, CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDcopy_v2)(cublasHandle_t handle, CUBLAS_INT n, const double *x,
                                                        CUBLAS_INT incx, double *y, CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDdot_v2)(cublasHandle_t handle, CUBLAS_INT n, const double *x,
                                                       CUBLAS_INT incx, const double *y, CUBLAS_INT incy,
                                                       double *result);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDnrm2_v2)(cublasHandle_t handle, CUBLAS_INT n, const double *x,
                                                        CUBLAS_INT incx, double *result);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDotcEx)(cublasHandle_t handle, CUBLAS_INT n, const void *x,
                                                      cudaDataType xType, CUBLAS_INT incx, const void *y,
                                                      cudaDataType yType, CUBLAS_INT incy, void *result,
                                                      cudaDataType resultType, cudaDataType executionType);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDotEx)(cublasHandle_t handle, CUBLAS_INT n, const void *x,
                                                     cudaDataType xType, CUBLAS_INT incx, const void *y,
                                                     cudaDataType yType, CUBLAS_INT incy, void *result,
                                                     cudaDataType resultType, cudaDataType executionType);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDrot_v2)(cublasHandle_t handle, CUBLAS_INT n, double *x,
                                                       CUBLAS_INT incx, double *y, CUBLAS_INT incy,
                                                       const double *c, const double *s);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDrotm_v2)(cublasHandle_t handle, CUBLAS_INT n, double *x,
                                                        CUBLAS_INT incx, double *y, CUBLAS_INT incy,
                                                        const double *param);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDscal_v2)(cublasHandle_t handle, CUBLAS_INT n,
                                                        const double *alpha, double *x, CUBLAS_INT incx);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDswap_v2)(cublasHandle_t handle, CUBLAS_INT n, double *x,
                                                        CUBLAS_INT incx, double *y, CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDzasum_v2)(cublasHandle_t handle, CUBLAS_INT n,
                                                         const cuDoubleComplex *x, CUBLAS_INT incx,
                                                         double *result);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasDznrm2_v2)(cublasHandle_t handle, CUBLAS_INT n,
                                                         const cuDoubleComplex *x, CUBLAS_INT incx,
                                                         double *result);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasGetVector)(CUBLAS_INT n, CUBLAS_INT elemSize, const void *x,
                                                         CUBLAS_INT incx, void *y, CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasGetVectorAsync)(CUBLAS_INT n, CUBLAS_INT elemSize,
                                                              const void *devicePtr, CUBLAS_INT incx,
                                                              void *hostPtr, CUBLAS_INT incy,
                                                              cudaStream_t stream);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasIamaxEx)(cublasHandle_t handle, CUBLAS_INT n, const void *x,
                                                       cudaDataType xType, CUBLAS_INT incx,
                                                       CUBLAS_INT *result);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasIaminEx)(cublasHandle_t handle, CUBLAS_INT n, const void *x,
                                                       cudaDataType xType, CUBLAS_INT incx,
                                                       CUBLAS_INT *result);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasIcamax_v2)(cublasHandle_t handle, CUBLAS_INT n,
                                                         const cuComplex *x, CUBLAS_INT incx,
                                                         CUBLAS_INT *result);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasIcamin_v2)(cublasHandle_t handle, CUBLAS_INT n,
                                                         const cuComplex *x, CUBLAS_INT incx,
                                                         CUBLAS_INT *result);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasIdamax_v2)(cublasHandle_t handle, CUBLAS_INT n, const double *x,
                                                         CUBLAS_INT incx, CUBLAS_INT *result);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasIdamin_v2)(cublasHandle_t handle, CUBLAS_INT n, const double *x,
                                                         CUBLAS_INT incx, CUBLAS_INT *result);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasIsamax_v2)(cublasHandle_t handle, CUBLAS_INT n, const float *x,
                                                         CUBLAS_INT incx, CUBLAS_INT *result);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasIsamin_v2)(cublasHandle_t handle, CUBLAS_INT n, const float *x,
                                                         CUBLAS_INT incx, CUBLAS_INT *result);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasIzamax_v2)(cublasHandle_t handle, CUBLAS_INT n,
                                                         const cuDoubleComplex *x, CUBLAS_INT incx,
                                                         CUBLAS_INT *result);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasIzamin_v2)(cublasHandle_t handle, CUBLAS_INT n,
                                                         const cuDoubleComplex *x, CUBLAS_INT incx,
                                                         CUBLAS_INT *result);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasNrm2Ex)(cublasHandle_t handle, CUBLAS_INT n, const void *x,
                                                      cudaDataType xType, CUBLAS_INT incx, void *result,
                                                      cudaDataType resultType, cudaDataType executionType);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasRotEx)(cublasHandle_t handle, CUBLAS_INT n, void *x,
                                                     cudaDataType xType, CUBLAS_INT incx, void *y,
                                                     cudaDataType yType, CUBLAS_INT incy, const void *c,
                                                     const void *s, cudaDataType csType,
                                                     cudaDataType executiontype);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasRotmEx)(cublasHandle_t handle, CUBLAS_INT n, void *x,
                                                      cudaDataType xType, CUBLAS_INT incx, void *y,
                                                      cudaDataType yType, CUBLAS_INT incy, const void *param,
                                                      cudaDataType paramType, cudaDataType executiontype);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasSasum_v2)(cublasHandle_t handle, CUBLAS_INT n, const float *x,
                                                        CUBLAS_INT incx, float *result);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasSaxpy_v2)(cublasHandle_t handle, CUBLAS_INT n,
                                                        const float *alpha, const float *x, CUBLAS_INT incx,
                                                        float *y, CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasScalEx)(cublasHandle_t handle, CUBLAS_INT n, const void *alpha,
                                                      cudaDataType alphaType, void *x, cudaDataType xType,
                                                      CUBLAS_INT incx, cudaDataType executionType);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasScasum_v2)(cublasHandle_t handle, CUBLAS_INT n,
                                                         const cuComplex *x, CUBLAS_INT incx, float *result);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasScnrm2_v2)(cublasHandle_t handle, CUBLAS_INT n,
                                                         const cuComplex *x, CUBLAS_INT incx, float *result);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasScopy_v2)(cublasHandle_t handle, CUBLAS_INT n, const float *x,
                                                        CUBLAS_INT incx, float *y, CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasSdot_v2)(cublasHandle_t handle, CUBLAS_INT n, const float *x,
                                                       CUBLAS_INT incx, const float *y, CUBLAS_INT incy,
                                                       float *result);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasSetVector)(CUBLAS_INT n, CUBLAS_INT elemSize, const void *x,
                                                         CUBLAS_INT incx, void *devicePtr, CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasSetVectorAsync)(CUBLAS_INT n, CUBLAS_INT elemSize,
                                                              const void *hostPtr, CUBLAS_INT incx,
                                                              void *devicePtr, CUBLAS_INT incy,
                                                              cudaStream_t stream);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasSnrm2_v2)(cublasHandle_t handle, CUBLAS_INT n, const float *x,
                                                        CUBLAS_INT incx, float *result);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasSrot_v2)(cublasHandle_t handle, CUBLAS_INT n, float *x,
                                                       CUBLAS_INT incx, float *y, CUBLAS_INT incy,
                                                       const float *c, const float *s);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasSrotm_v2)(cublasHandle_t handle, CUBLAS_INT n, float *x,
                                                        CUBLAS_INT incx, float *y, CUBLAS_INT incy,
                                                        const float *param);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasSscal_v2)(cublasHandle_t handle, CUBLAS_INT n,
                                                        const float *alpha, float *x, CUBLAS_INT incx);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasSswap_v2)(cublasHandle_t handle, CUBLAS_INT n, float *x,
                                                        CUBLAS_INT incx, float *y, CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasSwapEx)(cublasHandle_t handle, CUBLAS_INT n, void *x,
                                                      cudaDataType xType, CUBLAS_INT incx, void *y,
                                                      cudaDataType yType, CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZaxpy_v2)(cublasHandle_t handle, CUBLAS_INT n,
                                                        const cuDoubleComplex *alpha,
                                                        const cuDoubleComplex *x, CUBLAS_INT incx,
                                                        cuDoubleComplex *y, CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZcopy_v2)(cublasHandle_t handle, CUBLAS_INT n,
                                                        const cuDoubleComplex *x, CUBLAS_INT incx,
                                                        cuDoubleComplex *y, CUBLAS_INT incy);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZdotc_v2)(cublasHandle_t handle, CUBLAS_INT n,
                                                        const cuDoubleComplex *x, CUBLAS_INT incx,
                                                        const cuDoubleComplex *y, CUBLAS_INT incy,
                                                        cuDoubleComplex *result);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZdotu_v2)(cublasHandle_t handle, CUBLAS_INT n,
                                                        const cuDoubleComplex *x, CUBLAS_INT incx,
                                                        const cuDoubleComplex *y, CUBLAS_INT incy,
                                                        cuDoubleComplex *result);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZdrot_v2)(cublasHandle_t handle, CUBLAS_INT n,
                                                        cuDoubleComplex *x, CUBLAS_INT incx,
                                                        cuDoubleComplex *y, CUBLAS_INT incy, const double *c,
                                                        const double *s);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZdscal_v2)(cublasHandle_t handle, CUBLAS_INT n,
                                                         const double *alpha, cuDoubleComplex *x,
                                                         CUBLAS_INT incx);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZrot_v2)(cublasHandle_t handle, CUBLAS_INT n,
                                                       cuDoubleComplex *x, CUBLAS_INT incx,
                                                       cuDoubleComplex *y, CUBLAS_INT incy, const double *c,
                                                       const cuDoubleComplex *s);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZscal_v2)(cublasHandle_t handle, CUBLAS_INT n,
                                                        const cuDoubleComplex *alpha, cuDoubleComplex *x,
                                                        CUBLAS_INT incx);
cublasStatus_t CUBLASWINAPI CUBLAS_NAME(cublasZswap_v2)(cublasHandle_t handle, CUBLAS_INT n,
                                                        cuDoubleComplex *x, CUBLAS_INT incx,
                                                        cuDoubleComplex *y, CUBLAS_INT incy);
