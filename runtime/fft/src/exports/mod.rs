//! The exported functions.
//!
//! | module | functions |
//! |---|---|
//! | [`plans`] | making plans, and the sizes of work areas |
//! | [`run`] | running them |
//! | [`settings`] | handles, streams, work areas, versions |
//! | [`refused`] | what is not supported |

mod plans;
mod refused;
mod run;
mod settings;

use crate::status::{Outcome, Status};

/// Writes a result through the caller's pointer.
///
/// # Errors
/// `CUFFT_INVALID_VALUE` for a null pointer.
fn put<T>(to: *mut T, value: T) -> Outcome {
    // SAFETY: the program passes null or a valid pointer.
    Status::INVALID_VALUE.unless(unsafe { gpurace_library::export::put(to, value) })
}

/// Defines functions of cuFFT. A body returns an [`Outcome`] and may use its function's name.
macro_rules! functions {
    ($name:ident: $(fn $function:ident($($param:ident: $ty:ty),* $(,)?) $body:block)*) => {$(
        #[doc = concat!("`", stringify!($function), "` of cuFFT.")]
        ///
        /// # Safety
        /// Pointers are as cuFFT documents them.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $function($($param: $ty),*) -> $crate::status::Status {
            use $crate::status::{Outcome, Status};
            // Not every body names its function. The parameters are cuFFT's.
            #[allow(unused_variables, clippy::too_many_arguments)]
            fn body($name: &'static std::ffi::CStr, $($param: $ty),*) -> Outcome $body
            const NAME: &std::ffi::CStr =
                gpurace_library::export::c_text(concat!(stringify!($function), "\0"));
            gpurace_library::export::guard(NAME, Status::INTERNAL_ERROR, || match body(NAME, $($param),*) {
                Ok(()) => Status::SUCCESS,
                Err(status) => status,
            })
        }
    )*};
}
use functions;
