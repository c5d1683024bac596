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
