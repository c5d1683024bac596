//! Functions that are not supported. They say so by name.

use gpurace_library::export::{c_text, say};

use crate::status::Status;

/// Defines functions that say that they are missing. They look at no parameter, so any list of them fits.
macro_rules! refused {
    ($($name:ident)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of cuBLAS. Refused.")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> Status {
            const NAME: &std::ffi::CStr = c_text(concat!(stringify!($name), "\0"));
            say(NAME, "not supported by gpurace's cuBLAS (see docs/libraries.md)");
            Status::NOT_SUPPORTED
        }
    )*};
}

refused! {
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
