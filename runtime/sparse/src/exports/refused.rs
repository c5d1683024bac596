//! Functions that are not supported. They say so by name.

use gpurace_library::export::{c_text, say};

use crate::status::Status;

/// Defines functions that say that they are missing. They look at no parameter, so any list of them fits.
macro_rules! refused {
    ($($name:ident)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of cuSPARSE. Refused.")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> Status {
            const NAME: &std::ffi::CStr = c_text(concat!(stringify!($name), "\0"));
            say(NAME, "not supported by gpurace's cuSPARSE (see docs/libraries.md)");
            Status::NOT_SUPPORTED
        }
    )*};
}

refused! {
    cusparseCreateBlockedEll cusparseCreateConstBlockedEll cusparseCreateSlicedEll cusparseCreateConstSlicedEll
    cusparseCreateBsr cusparseCreateConstBsr
    cusparseRot
    cusparseSpGEMM_getNumProducts cusparseSpGEMM_estimateMemory
    cusparseSpGEMMreuse_workEstimation cusparseSpGEMMreuse_nnz cusparseSpGEMMreuse_copy cusparseSpGEMMreuse_compute
    cusparseSpMMOp_createPlan cusparseSpMMOp cusparseSpMMOp_destroyPlan
}
