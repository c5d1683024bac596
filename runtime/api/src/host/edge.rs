//! The edge to C: no panic leaves the library, and null pointers of the program become errors.

use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::host::errors::{Error, Result};
use crate::host::message;

/// Runs the body of an exported function whose result is not an error code. A panic is reported,
/// and `otherwise` is the result.
pub fn guard<T>(name: &str, otherwise: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        message::error(&format!("internal error in `{name}`"));
        otherwise
    })
}

/// Calls `function` with the exit status and `argument` when the program exits. Of several functions
/// the last comes first.
pub fn at_exit<T: Sync>(function: extern "C" fn(c_int, *mut c_void), argument: &'static T) {
    unsafe extern "C" {
        fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
    }
    // SAFETY: the function stays: the library is never unloaded.
    unsafe { on_exit(function, std::ptr::from_ref(argument).cast_mut().cast()) };
}

/// Calls `function` when the program ends by `quick_exit`. Of several functions the last comes first.
pub fn at_quick_exit(function: extern "C" fn(*mut c_void)) {
    unsafe extern "C" {
        fn __cxa_at_quick_exit(function: extern "C" fn(*mut c_void), library: *mut c_void) -> c_int;
    }
    // SAFETY: as above.
    unsafe { __cxa_at_quick_exit(function, std::ptr::null_mut()) };
}

/// Writes a result through the caller's pointer.
///
/// # Safety
/// `to` is null or valid for a write.
///
/// # Errors
/// `cudaErrorInvalidValue` for a null pointer.
pub unsafe fn put<T>(to: *mut T, value: T) -> Result {
    if to.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: not null, hence valid by the contract above.
    unsafe { to.write(value) };
    Ok(())
}

/// Writes a result through the caller's pointer, unless it is null.
///
/// # Safety
/// As [`put`].
pub unsafe fn put_if_asked<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: not null, hence valid by the contract above.
        unsafe { to.write(value) };
    }
}

/// Borrows the value behind the caller's pointer.
///
/// # Safety
/// `from` is null or points to a `T` that lives as long as `'a`.
///
/// # Errors
/// `cudaErrorInvalidValue` for a null pointer.
pub unsafe fn get<'a, T>(from: *const T) -> Result<&'a T> {
    // SAFETY: null or valid by the contract above.
    unsafe { from.as_ref() }.ok_or(Error::INVALID_VALUE)
}
