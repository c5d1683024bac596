//! `cublasHandle_t`: a context with a stream and settings.

use std::collections::HashSet;
use std::ffi::c_void;

use parking_lot::Mutex;

use crate::status::{Outcome, Status};

/// `cublasHandle_t`
pub type RawHandle = *mut Handle;

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

/// A context.
pub struct Handle(Mutex<Settings>);

/// The addresses of the handles that exist.
static LIVE: Mutex<Option<HashSet<usize>>> = Mutex::new(None);

/// Makes a handle.
pub fn create() -> RawHandle {
    let settings = Settings {
        stream: std::ptr::null_mut(),
        pointer_mode: 0,
        math_mode: 0,
        atomics_mode: 0,
        multiprocessors: 0,
        emulation_strategy: 0,
    };
    let handle = Box::into_raw(Box::new(Handle(Mutex::new(settings))));
    LIVE.lock().get_or_insert_default().insert(handle.addr());
    handle
}

/// Destroys a handle.
///
/// # Errors
/// `CUBLAS_STATUS_NOT_INITIALIZED` if it is none.
pub fn destroy(handle: RawHandle) -> Outcome {
    if !LIVE.lock().as_mut().is_some_and(|live| live.remove(&handle.addr())) {
        return Err(Status::NOT_INITIALIZED);
    }
    // SAFETY: it came from `create`, and nobody destroyed it before.
    drop(unsafe { Box::from_raw(handle) });
    Ok(())
}

/// Reads or changes the settings of a handle.
///
/// # Errors
/// `CUBLAS_STATUS_NOT_INITIALIZED` if it is none.
pub fn with<T>(handle: RawHandle, body: impl FnOnce(&mut Settings) -> T) -> Outcome<T> {
    let live = LIVE.lock();
    if !live.as_ref().is_some_and(|live| live.contains(&handle.addr())) {
        return Err(Status::NOT_INITIALIZED);
    }
    // SAFETY: it lives while the lock is held.
    Ok(body(&mut unsafe { &*handle }.0.lock()))
}
