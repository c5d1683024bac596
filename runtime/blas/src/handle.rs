//! `cublasHandle_t`: a context with a stream and settings.

use std::ffi::c_void;

use gpurace_library::registry::{Raw, Registry};

use crate::status::Status;

/// `cublasHandle_t`
pub type RawHandle = Raw;

/// What the program has set for a handle.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The `cudaStream_t`.
    pub stream: *mut c_void,
    /// `cublasPointerMode_t`: 1 if scalars are in the device's memory.
    pub pointer_mode: u32,
    /// `cublasMath_t`
    pub math_mode: u32,
    /// `cublasAtomicsMode_t`
    pub atomics_mode: u32,
    /// The number of multiprocessors to use. 0 for all.
    pub multiprocessors: i32,
    /// `cublasEmulationStrategy_t`
    pub emulation_strategy: u32,
}

// SAFETY: the stream is only passed on.
unsafe impl Send for Settings {}

/// The handles that exist.
pub static HANDLES: Registry<Settings, Status> = Registry::new(Status::NOT_INITIALIZED);

/// Makes a handle.
pub fn create() -> RawHandle {
    HANDLES.create(Settings {
        stream: std::ptr::null_mut(),
        pointer_mode: 0,
        math_mode: 0,
        atomics_mode: 0,
        multiprocessors: 0,
        emulation_strategy: 0,
    })
}
