//! The kinds of handles and descriptors.

pub use gpurace_library::registry::Raw;

use crate::dense::DnMat;
use crate::exports::gemm::Gemm;
use crate::exports::legacy::MatDescr;
use crate::sparse::{SpMat, SpVec};
use crate::status::Status;

/// All that exist of one kind.
pub type Registry<T> = gpurace_library::registry::Registry<T, Status>;

/// What the program has set for a handle.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// The `cudaStream_t`, as a number.
    pub stream: usize,
    /// `cusparsePointerMode_t`: 1 if scalars are in the device's memory.
    pub pointer_mode: u32,
}

/// What a solver keeps from its analysis: the address of its buffer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Analysis(pub usize);

/// `cusparseHandle_t`
pub static HANDLES: Registry<Settings> = Registry::new(Status::NOT_INITIALIZED);
/// `cusparseSpVecDescr_t`
pub static SPARSE_VECTORS: Registry<SpVec> = Registry::new(Status::INVALID_VALUE);
/// `cusparseDnVecDescr_t`: a matrix of one column.
pub static VECTORS: Registry<DnMat> = Registry::new(Status::INVALID_VALUE);
/// `cusparseSpMatDescr_t`
pub static SPARSE: Registry<SpMat> = Registry::new(Status::INVALID_VALUE);
/// `cusparseDnMatDescr_t`
pub static DENSE: Registry<DnMat> = Registry::new(Status::INVALID_VALUE);
/// `cusparseMatDescr_t`
pub static OLD: Registry<MatDescr> = Registry::new(Status::INVALID_VALUE);
/// `cusparseSpSVDescr_t` and `cusparseSpSMDescr_t`
pub static SOLVERS: Registry<Analysis> = Registry::new(Status::INVALID_VALUE);
/// `cusparseSpGEMMDescr_t`
pub static PRODUCTS: Registry<Gemm> = Registry::new(Status::INVALID_VALUE);
