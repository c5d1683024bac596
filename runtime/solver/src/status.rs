//! `cusolverStatus_t`, and the enumerations that parameters have.

gpurace_library::statuses! { "`cusolverStatus_t`":
    SUCCESS = 0, "CUSOLVER_STATUS_SUCCESS";
    NOT_INITIALIZED = 1, "CUSOLVER_STATUS_NOT_INITIALIZED";
    ALLOC_FAILED = 2, "CUSOLVER_STATUS_ALLOC_FAILED";
    INVALID_VALUE = 3, "CUSOLVER_STATUS_INVALID_VALUE";
    ARCH_MISMATCH = 4, "CUSOLVER_STATUS_ARCH_MISMATCH";
    MAPPING_ERROR = 5, "CUSOLVER_STATUS_MAPPING_ERROR";
    EXECUTION_FAILED = 6, "CUSOLVER_STATUS_EXECUTION_FAILED";
    INTERNAL_ERROR = 7, "CUSOLVER_STATUS_INTERNAL_ERROR";
    MATRIX_TYPE_NOT_SUPPORTED = 8, "CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED";
    NOT_SUPPORTED = 9, "CUSOLVER_STATUS_NOT_SUPPORTED";
}

gpurace_library::parameters!();

/// A parameter with two values, 0 and 1: true for 1.
///
/// # Errors
/// `CUSOLVER_STATUS_INVALID_VALUE` for another number.
pub fn choice(number: u32) -> Outcome<bool> {
    valid(number < 2)?;
    Ok(number == 1)
}
