//! Functions that are not supported. They say so by name.

use crate::status::Status;

gpurace_library::refused! { "cuSPARSE":
    cusparseCreateBlockedEll cusparseCreateConstBlockedEll cusparseCreateSlicedEll cusparseCreateConstSlicedEll
    cusparseCreateBsr cusparseCreateConstBsr
    cusparseRot
    cusparseSpGEMM_getNumProducts cusparseSpGEMM_estimateMemory
    cusparseSpGEMMreuse_workEstimation cusparseSpGEMMreuse_nnz cusparseSpGEMMreuse_copy cusparseSpGEMMreuse_compute
    cusparseSpMMOp_createPlan cusparseSpMMOp cusparseSpMMOp_destroyPlan
}
