//! `cusparseStatus_t`.

gpurace_library::statuses! { "`cusparseStatus_t`":
    SUCCESS = 0, "CUSPARSE_STATUS_SUCCESS", "success";
    NOT_INITIALIZED = 1, "CUSPARSE_STATUS_NOT_INITIALIZED", "initialization error";
    ALLOC_FAILED = 2, "CUSPARSE_STATUS_ALLOC_FAILED", "out of memory";
    INVALID_VALUE = 3, "CUSPARSE_STATUS_INVALID_VALUE", "invalid value";
    ARCH_MISMATCH = 4, "CUSPARSE_STATUS_ARCH_MISMATCH", "architecture mismatch";
    MAPPING_ERROR = 5, "CUSPARSE_STATUS_MAPPING_ERROR", "mapping error";
    EXECUTION_FAILED = 6, "CUSPARSE_STATUS_EXECUTION_FAILED", "execution failure";
    INTERNAL_ERROR = 7, "CUSPARSE_STATUS_INTERNAL_ERROR", "internal error";
    MATRIX_TYPE_NOT_SUPPORTED = 8, "CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED", "matrix type not supported";
    ZERO_PIVOT = 9, "CUSPARSE_STATUS_ZERO_PIVOT", "zero pivot";
    NOT_SUPPORTED = 10, "CUSPARSE_STATUS_NOT_SUPPORTED", "operation not supported";
    INSUFFICIENT_RESOURCES = 11, "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES", "insufficient resources";
}

gpurace_library::parameters!();
