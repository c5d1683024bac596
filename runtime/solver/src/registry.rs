//! The kinds of handles.

pub use gpurace_library::registry::Raw;

use crate::status::Status;

/// All that exist of one kind.
pub type Registry<T> = gpurace_library::registry::Registry<T, Status>;

/// What the program has set for a handle.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// The `cudaStream_t`, as a number.
    pub stream: usize,
    /// `cusolverDeterministicMode_t`. It changes nothing.
    pub deterministic: u32,
}

/// `cusolverDnHandle_t`
pub static HANDLES: Registry<Settings> = Registry::new(Status::NOT_INITIALIZED);
/// `cusolverDnParams_t`: what is set changes nothing.
pub static PARAMS: Registry<()> = Registry::new(Status::INVALID_VALUE);
/// `syevjInfo_t` and `gesvdjInfo_t`: what is set changes nothing.
pub static JACOBI: Registry<()> = Registry::new(Status::INVALID_VALUE);
