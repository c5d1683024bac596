//! The exported functions.
//!
//! | module | functions |
//! |---|---|
//! | [`settings`] | handles, streams, pointer modes, versions, texts |
//! | [`descriptors`] | sparse and dense vectors and matrices |
//! | [`vectors`] | sparse vectors with dense ones |
//! | [`products`] | sparse matrices with dense ones, and triangular systems |
//! | [`gemm`] | products of sparse matrices |
//! | [`convert`] | between dense and sparse matrices |
//! | [`legacy`] | the older interface: sorts, conversions, incomplete factors |
//! | [`refused`] | what is not supported |

mod convert;
mod descriptors;
pub mod gemm;
pub mod legacy;
mod products;
mod refused;
mod settings;
mod vectors;

use crate::status::{Outcome, valid};

/// Writes a result through the caller's pointer.
///
/// # Errors
/// `CUSPARSE_STATUS_INVALID_VALUE` for a null pointer.
fn put<T>(to: *mut T, value: T) -> Outcome {
    // SAFETY: the program passes null or a valid pointer.
    valid(unsafe { gpurace_library::export::put(to, value) })
}

/// Writes the size of a call's buffer.
///
/// # Errors
/// As [`put`].
fn put_buffer(to: *mut usize) -> Outcome {
    put(to, crate::call::BUFFER)
}

/// Defines functions of cuSPARSE. A body returns an [`Outcome`] and may use its function's name. Two names may
/// share a body: cuSPARSE has each function of a descriptor for constant data too.
macro_rules! functions {
    ($name:ident: $(fn $function:ident $(| $constant:ident)? ($($params:tt)*) $body:block)*) => {$(
        $crate::exports::functions!(@each $name [$function $($constant)?] ($($params)*) $body);
    )*};
    (@each $name:ident [$($function:ident)*] $params:tt $body:block) => {$(
        $crate::exports::functions!(@one $name $function $params $body);
    )*};
    (@one $name:ident $function:ident ($($param:ident: $ty:ty),* $(,)?) $body:block) => {
        #[doc = concat!("`", stringify!($function), "` of cuSPARSE.")]
        ///
        /// # Safety
        /// Pointers are as cuSPARSE documents them.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $function($($param: $ty),*) -> $crate::status::Status {
            use $crate::status::{Outcome, Status};
            // Not every body names its function. The parameters are cuSPARSE's.
            #[allow(unused_variables, clippy::too_many_arguments)]
            fn body($name: &'static std::ffi::CStr, $($param: $ty),*) -> Outcome $body
            const NAME: &std::ffi::CStr =
                gpurace_library::export::c_text(concat!(stringify!($function), "\0"));
            gpurace_library::export::guard(NAME, Status::INTERNAL_ERROR, || match body(NAME, $($param),*) {
                Ok(()) => Status::SUCCESS,
                Err(status) => status,
            })
        }
    };
}
use functions;
