//! Functions that are not supported. They say so by name.

use crate::status::Status;

gpurace_library::refused! { "cuBLAS":
    cublasCgelsBatched cublasDgelsBatched cublasSgelsBatched cublasZgelsBatched
    cublasCgeqrfBatched cublasDgeqrfBatched cublasSgeqrfBatched cublasZgeqrfBatched
    cublasSgemmGroupedBatched cublasSgemmGroupedBatched_64 cublasDgemmGroupedBatched cublasDgemmGroupedBatched_64
    cublasGemmGroupedBatchedEx cublasGemmGroupedBatchedEx_64
    cublasCherkEx cublasCherkEx_64 cublasCherk3mEx cublasCherk3mEx_64
    cublasCsyrkEx cublasCsyrkEx_64 cublasCsyrk3mEx cublasCsyrk3mEx_64
    cublasRotEx cublasRotEx_64 cublasRotmEx cublasRotmEx_64 cublasRotgEx cublasRotmgEx
    cublasUint8gemmBias
    cublasLtMatmulAlgoCapGetAttribute cublasLtMatmulAlgoConfigGetAttribute cublasLtMatmulPreferenceGetAttribute
    cublasLtMatrixTransform cublasLtMatrixTransformDescCreate cublasLtMatrixTransformDescDestroy
    cublasLtMatrixTransformDescGetAttribute cublasLtMatrixTransformDescInit_internal
    cublasLtMatrixTransformDescSetAttribute
}
