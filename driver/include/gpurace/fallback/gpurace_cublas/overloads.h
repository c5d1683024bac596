// Part of cublas_api.h: in C++, the type of a computation may also be a type of elements.

static inline cublasComputeType_t gpurace_cublas_compute_type(cudaDataType type) {
  switch (type) {
  case CUDA_R_16F:
    return CUBLAS_COMPUTE_16F;
  case CUDA_R_64F:
  case CUDA_C_64F:
    return CUBLAS_COMPUTE_64F;
  case CUDA_R_32I:
    return CUBLAS_COMPUTE_32I;
  default:
    return CUBLAS_COMPUTE_32F;
  }
}

static inline cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa,
                                          cublasOperation_t transb, int m, int n, int k, const void *alpha,
                                          const void *A, cudaDataType Atype, int lda, const void *B,
                                          cudaDataType Btype, int ldb, const void *beta, void *C,
                                          cudaDataType Ctype, int ldc, cudaDataType computeType,
                                          cublasGemmAlgo_t algo) {
  return cublasGemmEx(handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb, beta, C, Ctype,
                      ldc, gpurace_cublas_compute_type(computeType), algo);
}

static inline cublasStatus_t
cublasGemmBatchedEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                    int k, const void *alpha, const void *const *Aarray, cudaDataType Atype, int lda,
                    const void *const *Barray, cudaDataType Btype, int ldb, const void *beta,
                    void *const *Carray, cudaDataType Ctype, int ldc, int batchCount,
                    cudaDataType computeType, cublasGemmAlgo_t algo) {
  return cublasGemmBatchedEx(handle, transa, transb, m, n, k, alpha, Aarray, Atype, lda, Barray, Btype, ldb,
                             beta, Carray, Ctype, ldc, batchCount, gpurace_cublas_compute_type(computeType),
                             algo);
}

static inline cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k,
    const void *alpha, const void *A, cudaDataType Atype, int lda, long long int strideA, const void *B,
    cudaDataType Btype, int ldb, long long int strideB, const void *beta, void *C, cudaDataType Ctype,
    int ldc, long long int strideC, int batchCount, cudaDataType computeType, cublasGemmAlgo_t algo) {
  return cublasGemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, A, Atype, lda, strideA, B, Btype,
                                    ldb, strideB, beta, C, Ctype, ldc, strideC, batchCount,
                                    gpurace_cublas_compute_type(computeType), algo);
}
