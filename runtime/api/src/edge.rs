//! The edge to C: every exported function goes through [`api!`], so that no
//! panic leaves the library and every failure becomes the thread's last error.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::errors::{self, Error, Result};
use crate::message;
use crate::watch;

/// Defines functions of the CUDA Runtime API. A body gives a [`Result`]; it is
/// one `unsafe` block, because what it does with pointers rests on the contract
/// of the C function: pointers are null, where CUDA allows or detects that, or
/// valid for what the function is documented to read and write.
///
/// `@always fn` also runs after a kernel has failed; a plain `fn` then returns
/// the kernel's error at once, as CUDA does. `@ptds fn` and `@ptsz fn` are there
/// a second time with that suffix, which is what programs call that are compiled
/// with `-fgpu-default-stream=per-thread`: their null stream is the host thread's own.
macro_rules! api {
    (runs always) => { true };
    (runs $($mark:ident)?) => { false };
    (again [ptds] $name:ident $params:tt) => { $crate::edge::api!(again "_ptds", $name $params); };
    (again [ptsz] $name:ident $params:tt) => { $crate::edge::api!(again "_ptsz", $name $params); };
    (again [$($mark:ident)?] $name:ident $params:tt) => {};
    (again $suffix:literal, $name:ident ($($param:ident: $ty:ty),*)) => {
        const _: () = {
            #[unsafe(export_name = concat!(stringify!($name), $suffix))]
            unsafe extern "C" fn own($($param: $ty),*) -> $crate::errors::Error {
                // SAFETY: the caller keeps the contract of the C function.
                $crate::stream::with_own_default(|| unsafe { $name($($param),*) })
            }
        };
    };
    ($($(#[$meta:meta])* $(@$mark:ident)? fn $name:ident($($param:ident: $ty:ty),* $(,)?) $body:block)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of the CUDA Runtime API.")]
        $(#[$meta])*
        ///
        /// # Safety
        /// Pointers are as the CUDA Runtime API documents them.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($param: $ty),*) -> $crate::errors::Error {
            $crate::edge::enter(stringify!($name), $crate::edge::api!(runs $($mark)?), || {
                // SAFETY: the caller keeps the contract of the C function.
                #[allow(unused_unsafe)]
                unsafe { $body }
            })
        }
        $crate::edge::api!(again [$($mark)?] $name ($($param: $ty),*));
    )*};
}
pub(crate) use api;

/// Runs the body of the exported function `name`.
pub(crate) fn enter(name: &str, always: bool, body: impl FnOnce() -> Result) -> Error {
    if !always && errors::sticky() != Error::SUCCESS {
        return errors::sticky();
    }
    let body = || {
        watch::pause();
        let result = body();
        watch::resume();
        result
    };
    let result = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        message::error(&format!("internal error in `{name}`"));
        Err(Error::UNKNOWN)
    });
    match result {
        Ok(()) => Error::SUCCESS,
        Err(error) => {
            // CUDA does not count "not finished yet" as a failure.
            if error != Error::NOT_READY {
                errors::record(error);
            }
            error
        }
    }
}

/// Runs the body of an exported function that has another result than an error.
pub(crate) fn guard<T>(name: &str, otherwise: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        message::error(&format!("internal error in `{name}`"));
        otherwise
    })
}

/// Writes a result to where the caller wants it.
///
/// # Safety
/// `to` is null or valid for a write.
///
/// # Errors
/// `cudaErrorInvalidValue` for a null pointer.
pub(crate) unsafe fn put<T>(to: *mut T, value: T) -> Result {
    if to.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: not null, hence valid by the contract above.
    unsafe { to.write(value) };
    Ok(())
}

/// Reads what the caller points to.
///
/// # Safety
/// `from` is null or points to a `T` that lives as long as `'a`.
///
/// # Errors
/// `cudaErrorInvalidValue` for a null pointer.
pub(crate) unsafe fn get<'a, T>(from: *const T) -> Result<&'a T> {
    // SAFETY: null or valid by the contract above.
    unsafe { from.as_ref() }.ok_or(Error::INVALID_VALUE)
}
