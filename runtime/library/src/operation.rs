//! A call as an operation on a stream.

use std::ffi::{CStr, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use gpurace_abi::library::{LibraryOperation, TellRows};

use crate::touched::Touches;

unsafe extern "C" {
    fn __gpurace_library_submit(stream: *mut c_void, operation: *const LibraryOperation) -> u32;
}

/// What an operation does.
struct Work {
    touched: Box<dyn Fn(Touches)>,
    run: Box<dyn Fn()>,
}

unsafe extern "C" fn touched(data: *const c_void, tell: TellRows, to: *mut c_void) {
    // SAFETY: `submit` passes its own data.
    let work = unsafe { &*data.cast::<Work>() };
    // Rows that were told before a panic stay. The panic's message says the rest.
    let _ = catch_unwind(AssertUnwindSafe(|| (work.touched)(Touches::new(tell, to))));
}

unsafe extern "C" fn run(data: *const c_void) {
    // SAFETY: as above.
    let work = unsafe { &*data.cast::<Work>() };
    let _ = catch_unwind(AssertUnwindSafe(|| (work.run)()));
}

unsafe extern "C" fn free(data: *mut c_void) {
    // SAFETY: the runtime passes it once.
    let work = unsafe { Box::from_raw(data.cast::<Work>()) };
    let _ = catch_unwind(AssertUnwindSafe(|| drop(work)));
}

/// Submits an operation to a `cudaStream_t`, or adds it to the graph that the stream captures. `touches` names the
/// bytes that `runs` accesses. `waits`: the host waits for the end of it. `name` is that of the library's function.
///
/// # Errors
/// The runtime's `cudaError_t`.
#[expect(clippy::not_unsafe_ptr_arg_deref, reason = "the runtime checks that it is a stream")]
pub fn submit(
    name: &'static CStr,
    stream: *mut c_void,
    waits: bool,
    touches: impl Fn(Touches) + 'static,
    runs: impl Fn() + 'static,
) -> Result<(), u32> {
    let work = Work { touched: Box::new(touches), run: Box::new(runs) };
    let data = Box::into_raw(Box::new(work)).cast();
    let operation = LibraryOperation { name: name.as_ptr(), data, touched, run, free, waits };
    // SAFETY: the functions fit the data.
    match unsafe { __gpurace_library_submit(stream, &operation) } {
        0 => Ok(()),
        error => Err(error),
    }
}
