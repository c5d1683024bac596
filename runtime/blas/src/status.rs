//! `cublasStatus_t`, and the enumerations that parameters have.

gpurace_library::statuses! { "`cublasStatus_t`":
    SUCCESS = 0, "CUBLAS_STATUS_SUCCESS", "success";
    NOT_INITIALIZED = 1, "CUBLAS_STATUS_NOT_INITIALIZED", "the library was not initialized";
    ALLOC_FAILED = 3, "CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed";
    INVALID_VALUE = 7, "CUBLAS_STATUS_INVALID_VALUE", "an unsupported value or parameter was passed to the function";
    ARCH_MISMATCH = 8, "CUBLAS_STATUS_ARCH_MISMATCH", "the function requires a feature absent from the device";
    MAPPING_ERROR = 11, "CUBLAS_STATUS_MAPPING_ERROR", "an access to GPU memory space failed";
    EXECUTION_FAILED = 13, "CUBLAS_STATUS_EXECUTION_FAILED", "the function failed to launch on the GPU";
    INTERNAL_ERROR = 14, "CUBLAS_STATUS_INTERNAL_ERROR", "an internal operation failed";
    NOT_SUPPORTED = 15, "CUBLAS_STATUS_NOT_SUPPORTED", "the functionality is not supported";
    LICENSE_ERROR = 16, "CUBLAS_STATUS_LICENSE_ERROR", "a license check failed";
}

gpurace_library::parameters!();

/// `cublasFillMode_t`: the part of a matrix that is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The diagonal and what is below.
    Lower,
    /// The diagonal and what is above.
    Upper,
    /// All of it.
    Whole,
}

impl Part {
    /// The triangle with this number.
    ///
    /// # Errors
    /// `CUBLAS_STATUS_INVALID_VALUE` if it is none.
    pub fn triangle(number: u32) -> Outcome<Self> {
        match number {
            0 => Ok(Self::Lower),
            1 => Ok(Self::Upper),
            _ => Err(Status::INVALID_VALUE),
        }
    }
}

/// `cublasSideMode_t`: true for the left.
///
/// # Errors
/// `CUBLAS_STATUS_INVALID_VALUE` for another number.
pub fn is_left(number: u32) -> Outcome<bool> {
    valid(number < 2)?;
    Ok(number == 0)
}

/// `cublasDiagType_t`: true if the diagonal counts as ones.
///
/// # Errors
/// `CUBLAS_STATUS_INVALID_VALUE` for another number.
pub fn is_unit(number: u32) -> Outcome<bool> {
    valid(number < 2)?;
    Ok(number == 1)
}

/// The leading dimension of a matrix with this many rows.
///
/// # Errors
/// `CUBLAS_STATUS_INVALID_VALUE` if it is too small.
pub fn leading(number: i64, rows: usize) -> Outcome<usize> {
    let leading = size(number)?;
    valid(leading >= rows.max(1))?;
    Ok(leading)
}

/// The distance of a vector's elements.
///
/// # Errors
/// `CUBLAS_STATUS_INVALID_VALUE` for 0.
pub fn step(number: i64) -> Outcome<isize> {
    valid(number != 0)?;
    isize::try_from(number).map_err(|_| Status::INVALID_VALUE)
}
