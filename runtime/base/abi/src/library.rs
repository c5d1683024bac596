//! What the runtime and libraries beside it (`libgpurace_blas.so`) agree on. A library describes each call as an
//! operation on a stream, and the runtime orders, checks and runs it.

use core::ffi::{c_char, c_void};

/// Bytes that an operation reads or writes: rows of equal length.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LibraryRows {
    /// Address of the first byte.
    pub start: usize,
    /// Bytes of a row.
    pub width: usize,
    /// Rows of a slice.
    pub rows: usize,
    /// Bytes from one row to the next.
    pub pitch: usize,
    /// Slices.
    pub slices: usize,
    /// Bytes from one slice to the next.
    pub slice: usize,
    /// The operation writes them. Otherwise it reads them.
    pub writes: bool,
}

/// Takes some of the bytes that an operation touches. The first argument is the receiver's own. False if the device
/// has no such memory: then nobody may read it, and the operation will not run.
pub type TellRows = unsafe extern "C" fn(*mut c_void, *const LibraryRows) -> bool;

/// An operation of a library. It may run several times, if it is a node of a graph.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LibraryOperation {
    /// The name of the library's function, which stays valid.
    pub name: *const c_char,
    /// The first argument of the functions below.
    pub data: *mut c_void,
    /// Passes all bytes that the operation touches to the function, with the pointer. Called right before
    /// `run`: which bytes they are may depend on what is in memory.
    pub touched: unsafe extern "C" fn(*const c_void, TellRows, *mut c_void),
    /// Does the work.
    pub run: unsafe extern "C" fn(*const c_void),
    /// Frees `data`.
    pub free: unsafe extern "C" fn(*mut c_void),
    /// The host waits for the end of the operation.
    pub waits: bool,
}

/// `__gpurace_library_submit`: submits an operation to a `cudaStream_t`, or adds it to the graph that the stream
/// captures. Returns a `cudaError_t`. Frees the operation's data when it is no longer needed.
pub type Submit = unsafe extern "C" fn(stream: *mut c_void, operation: *const LibraryOperation) -> u32;

/// `__gpurace_library_free`: frees device memory that a library has allocated for itself by `cudaMalloc`. Returns a
/// `cudaError_t`. The host does not wait.
pub type Free = unsafe extern "C" fn(memory: *mut c_void) -> u32;
