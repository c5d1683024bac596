//! Streams: their handles, and the order of what the program submits.

use std::cell::{Cell, OnceCell};
use std::ffi::{c_int, c_void};

use crate::backend::Until;
use crate::host::edge::put;
use crate::host::errors::{Error, Result};
use crate::host::types::{STREAM_NON_BLOCKING, cudaStream_t};
use crate::order::{Clock, DEFAULT, StreamId};
use crate::work::Process;

/// Least priority of a stream.
pub const LEAST_PRIORITY: c_int = 0;
/// Greatest priority of a stream.
pub const GREATEST_PRIORITY: c_int = -5;
/// `cudaStreamLegacy`.
const LEGACY: usize = 1;
/// `cudaStreamPerThread`.
const PER_THREAD: usize = 2;

/// A stream of the program.
#[derive(Clone, Copy, Debug)]
pub struct StreamHandle {
    /// Its number.
    pub id: StreamId,
    /// Its flags.
    pub flags: u32,
    /// Its priority.
    pub priority: c_int,
}

thread_local! {
    /// The host thread's own default stream.
    static OWN: OnceCell<StreamId> = const { OnceCell::new() };
    /// True while the null stream is the host thread's own.
    static OWN_DEFAULT: Cell<bool> = const { Cell::new(false) };
}

fn per_thread(process: &Process) -> StreamId {
    OWN.try_with(|own| *own.get_or_init(|| process.order().create(true))).unwrap_or(DEFAULT)
}

/// Runs `body` with the null stream as this host thread's own.
pub fn with_own_default<T>(process: &Process, body: impl FnOnce() -> T) -> T {
    // The thread's stream is made at the first call: a stream that is made later counts as ordered
    // after everything that was submitted before.
    per_thread(process);
    let set = |own| OWN_DEFAULT.try_with(|default| default.replace(own)).unwrap_or(own);
    let before = set(true);
    let result = body();
    set(before);
    result
}

/// The stream of a handle, with its flags.
///
/// # Errors
/// `cudaErrorInvalidResourceHandle` if it is none.
pub fn lookup(process: &Process, handle: cudaStream_t) -> Result<StreamHandle> {
    let of = |id| StreamHandle { id, flags: 0, priority: LEAST_PRIORITY };
    match handle as usize {
        0 if OWN_DEFAULT.try_with(Cell::get) == Ok(true) => Ok(of(per_thread(process))),
        0 | LEGACY => Ok(of(DEFAULT)),
        PER_THREAD => Ok(of(per_thread(process))),
        made => process.streams.lock().get(&made).copied().ok_or(Error::INVALID_RESOURCE_HANDLE),
    }
}

/// The stream of a handle.
///
/// # Errors
/// `cudaErrorInvalidResourceHandle` if it is none.
pub fn resolve(process: &Process, handle: cudaStream_t) -> Result<StreamId> {
    lookup(process, handle).map(|stream| stream.id)
}

/// An operation that was submitted to a stream.
#[must_use]
pub struct SubmittedPoint(Clock);

impl SubmittedPoint {
    /// Lets the host wait for it.
    pub fn wait(self, process: &Process) {
        process.order().host_waits(&self.0);
    }

    /// The operations that it runs after, itself included.
    pub fn into_clock(self) -> Clock {
        self.0
    }
}

/// Submits an operation that is no launch.
///
/// # Errors
/// `cudaErrorInvalidResourceHandle` if the handle is no stream.
pub fn submit(process: &Process, handle: cudaStream_t) -> Result<SubmittedPoint> {
    let id = resolve(process, handle)?;
    Ok(SubmittedPoint(process.order().submit(id)))
}

/// Lets the host wait for all streams.
///
/// # Errors
/// The fault of a kernel.
pub fn synchronize_device(process: &Process) -> Result {
    process.backend().wait(Until::AllIsOver)?;
    process.order().host_waits_for_all();
    Ok(())
}

/// A callback of `cudaStreamAddCallback`.
pub struct StreamCallback {
    /// The stream.
    pub stream: cudaStream_t,
    /// The function.
    pub callback: unsafe extern "C" fn(cudaStream_t, Error, *mut c_void),
    /// Its argument.
    pub data: *mut c_void,
}

/// Calls the program's function with the stream.
///
/// # Safety
/// `called` is a [`StreamCallback`] that nobody else uses.
pub unsafe extern "C" fn call_back(called: *mut c_void) {
    // SAFETY: the caller keeps the contract above.
    let StreamCallback { stream, callback, data } =
        *unsafe { Box::from_raw(called.cast::<StreamCallback>()) };
    // SAFETY: the program passed the function with its data.
    unsafe { callback(stream, Error::SUCCESS, data) };
}

/// Makes a stream and writes its handle.
///
/// # Safety
/// `to` is null or valid for a write.
///
/// # Errors
/// `cudaErrorInvalidValue` for a null pointer or unknown flags, and the device's.
pub unsafe fn create(process: &Process, to: *mut cudaStream_t, flags: u32, priority: c_int) -> Result {
    if to.is_null() || flags & !STREAM_NON_BLOCKING != 0 {
        return Err(Error::INVALID_VALUE);
    }
    let priority = priority.clamp(GREATEST_PRIORITY, LEAST_PRIORITY);
    let id = process.order().create(flags & STREAM_NON_BLOCKING == 0);
    process.backend().create_stream(id, flags, priority)?;
    // The handle looks like a pointer. No two streams have the same.
    let handle = 0x5000_0000 + (id.0 as usize) * 16;
    let stream = StreamHandle { id, flags, priority };
    process.streams.lock().insert(handle, stream);
    // SAFETY: by contract.
    unsafe { put(to, handle as cudaStream_t) }
}

/// Destroys the stream.
///
/// # Errors
/// `cudaErrorInvalidResourceHandle` if the program has made no such stream.
pub fn destroy(process: &Process, stream: cudaStream_t) -> Result {
    let removed = process.streams.lock().remove(&(stream as usize));
    let removed = removed.ok_or(Error::INVALID_RESOURCE_HANDLE)?;
    process.order().destroy(removed.id);
    process.backend().destroy_stream(removed.id);
    Ok(())
}
